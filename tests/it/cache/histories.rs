//! Random histories of one repository and two caches: objects are replaced and put back, files of the caches are renamed,
//! swapped and damaged. Each request has the bytes, the status and the messages of the same request without a cache.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::FileExt,
    path::PathBuf,
    thread,
};

use super::{Cache, Dice};
use crate::support::{Repo, rounds};

/// Options of which each history has two.
const OPTIONS: [&str; 8] = [
    "--format=tar",
    "--format=tar --prefix=p/ --exclude=*.id",
    "--format=tar --no-attributes",
    "--format=zip",
    "--format=zip -1 --prefix=p/",
    "--format=zip --binary=omit",
    "--format=zip --max-size=1k --large=empty",
    "--format=tar.gz",
];

/// What a request without a cache leaves: bytes, status and messages.
type Expected = (Vec<u8>, i32, String);

/// A repository in which objects are replaced.
struct World {
    repo: Repo,
    commits: Vec<String>,
    /// Objects, each with one that may replace it.
    pairs: Vec<(String, String)>,
    /// The replacements at present.
    replaced: BTreeMap<String, String>,
    /// By the replacements, the variables and the words.
    expected: HashMap<(BTreeMap<String, String>, bool, String), Expected>,
}

impl World {
    fn new() -> World {
        let repo = Repo::init();
        let script = r#"
            mkdir d && printf '*.crlf text eol=crlf\nVERSION export-subst\n*.id ident\n' >.gitattributes
            seq 700 >n; seq 9 >m; echo line >b.crlf; echo '$Format:%H$' >VERSION; echo '$Id$' >c.id; printf 'a\0b' >bin
            ln -s n link; seq 300 >d/n; cp m d/m
            git add . && git commit -qm 1; seq 700 >d/new; git add . && git commit -qm 2
            printf 'm text eol=crlf\nbin export-ignore\n' >.gitattributes; git mv n d/o; git add . && git commit -qm 3
        "#;
        repo.script(script);
        let id = |name: &str| repo.git(["rev-parse", name]);
        let other = repo.git_with_input(["hash-object", "-w", "--stdin"], "other\n");
        let [n, m] = ["HEAD:d/o", "HEAD:m"].map(id);
        let pairs = [
            (&n, &other),
            (&n, &m),
            (&m, &n),
            (&m, &other),
            (&id("HEAD:VERSION"), &id("HEAD:b.crlf")),
            (&id("HEAD~1:d"), &id("HEAD:d")),
            (&id("HEAD~1"), &id("HEAD~2")),
        ];
        let pairs = pairs.map(|(old, new)| (old.clone(), new.clone())).to_vec();
        World {
            commits: ["HEAD~2", "HEAD~1", "HEAD"].map(id).to_vec(),
            pairs,
            replaced: BTreeMap::new(),
            expected: HashMap::new(),
            repo,
        }
    }

    /// Replaces an object, or puts it back, as `git replace` does.
    fn replace(&mut self, dice: &mut Dice) {
        let (old, new) = &self.pairs[dice.index(self.pairs.len())];
        let refs = self.repo.path().join(".git/refs/replace");
        fs::create_dir_all(&refs).expect("our own");
        if dice.roll(3) == 0 {
            self.replaced.remove(old);
            let _ = fs::remove_file(refs.join(old));
        } else {
            self.replaced.insert(old.clone(), new.clone());
            fs::write(refs.join(old), format!("{new}\n")).expect("our own");
        }
    }

    /// Asks `cache` for the archive of `words`, and compares it. Returns what the cache tells.
    fn ask(&mut self, cache: &Cache, words: String, sees_replaced: bool, seed: u64) -> String {
        let mut repo = self.repo.clone();
        if !sees_replaced {
            repo = repo.env("GIT_NO_REPLACE_OBJECTS", "1");
        }
        let state = (self.replaced.clone(), sees_replaced, words.clone());
        let (bytes, code, messages) = self.expected.entry(state).or_insert_with(|| {
            let output = repo.sluice(format!("--no-cache {words}").split_whitespace());
            (output.stdout.clone(), output.code(), output.messages())
        });
        let output = cache.run(&repo, &format!("--cache-always {words}"));
        let is_same = output.stdout == *bytes && output.code() == *code;
        assert!(
            is_same && output.messages() == *messages,
            "history {seed}: {output}\n{}\n{:?}\nwithout a cache: {} bytes, {code}, {messages}",
            cache.told(),
            self.replaced,
            bytes.len(),
        );
        let told = cache.told();
        let told = ["role", "donor"].map(|name| told[name].as_str().unwrap_or("-").to_owned());
        told.join(" ")
    }

    /// Makes the history of `seed`, of so many `requests`, and adds to `told`.
    fn live(&mut self, seed: u64, requests: u64, told: &mut BTreeMap<String, u64>) {
        let mut dice = Dice::new(seed);
        let caches = [Cache::new(), Cache::new()];
        let options = [(); 2].map(|()| OPTIONS[dice.index(OPTIONS.len())]);
        for _ in 0..requests {
            if dice.roll(3) == 0 {
                self.replace(&mut dice);
            }
            if dice.roll(4) == 0 {
                spoil(&caches, &mut dice);
            }
            let stable = ["", "--stable"][usize::from(dice.roll(4) == 0)];
            let commit = &self.commits[dice.index(self.commits.len())];
            let words = format!("{} {stable} {commit}", options[dice.index(2)]);
            let cache = &caches[usize::from(dice.roll(4) == 0)];
            let answer = self.ask(cache, words, dice.roll(4) > 0, seed);
            *told.entry(answer).or_default() += 1;
        }
    }
}

/// Renames, swaps or damages something in one of `caches`.
fn spoil(caches: &[Cache; 2], dice: &mut Dice) {
    let pick = |dice: &mut Dice| -> Option<PathBuf> {
        let cache = &caches[dice.index(2)];
        let names = cache.names();
        let name = names.get(dice.index(names.len().max(1)))?;
        Some(cache.path().join(name))
    };
    let (Some(one), Some(other)) = (pick(dice), pick(dice)) else {
        return;
    };
    let len = fs::metadata(&one).expect("our own").len();
    let file = || {
        fs::File::options()
            .read(true)
            .write(true)
            .open(&one)
            .expect("our own")
    };
    match dice.roll(6) {
        0 => {
            let (one_bytes, bytes) = (fs::read(&one), fs::read(&other));
            fs::write(&one, bytes.expect("our own")).expect("our own");
            fs::write(&other, one_bytes.expect("our own")).expect("our own");
        }
        1 => fs::rename(&one, &other).expect("our own"),
        2 => file().set_len(dice.roll(len + 1)).expect("our own"),
        3 => {
            let at = dice.roll(len.max(1));
            let mut byte = [0];
            let _ = file().read_at(&mut byte, at);
            file()
                .write_at(&[byte[0] ^ 1 << dice.roll(8)], at)
                .expect("our own");
        }
        4 => swap_notes(&caches[dice.index(2)]),
        _ => fs::remove_file(&one).expect("our own"),
    }
}

/// Passes each note about a family on to the next family that has one.
fn swap_notes(cache: &Cache) {
    let path = cache.path().join("latest");
    let Ok(mut notes) = fs::read(&path) else {
        return;
    };
    let is_note = |note: &&mut [u8]| note.iter().any(|&byte| byte > 0);
    let mut taken: Vec<_> = notes.chunks_exact_mut(32).filter(is_note).collect();
    for at in 1..taken.len() {
        let (before, rest) = taken.split_at_mut(at);
        before[at - 1].swap_with_slice(rest[0]);
    }
    fs::write(path, notes).expect("our own");
}

impl Dice {
    fn index(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll(sides as u64)).expect("small")
    }
}

/// Makes so many `histories` of so many `requests` on two threads, each with a repository. Every part that a cache can have was in play.
fn live(histories: u64, requests: u64) {
    let halves = thread::scope(|scope| {
        let half = |first| {
            move || {
                let (mut world, mut told) = (World::new(), BTreeMap::new());
                (first..=histories)
                    .step_by(2)
                    .for_each(|seed| world.live(seed, requests, &mut told));
                told
            }
        };
        let threads = [1, 2].map(|first| scope.spawn(half(first)));
        threads.map(|thread| thread.join().expect("every archive is the same"))
    });
    let mut told = BTreeMap::<String, u64>::new();
    for (answer, count) in halves.into_iter().flatten() {
        *told.entry(answer).or_default() += count;
    }
    assert_eq!(told.values().sum::<u64>(), histories * requests, "{told:?}");
    for answer in ["hit -", "producer -", "producer used"] {
        assert!(told.contains_key(answer), "{told:?}");
    }
}

#[test]
fn every_request_has_the_bytes_of_one_without_a_cache() {
    live(rounds(96), 4);
}

#[test]
#[ignore = "slow"]
fn many_histories() {
    live(rounds(400), 12);
}
