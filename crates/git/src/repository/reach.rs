//! Whether the refs of a repository lead to commits.
//!
//! Forks may share objects with repositories that nobody may see, so an object that is there proves nothing. git is asked once
//! for all commits that are wanted, and the answers are remembered. Must fail closed: in doubt, no ref leads to a commit.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsStr,
};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId, hasher};

use super::{Repository, file_stamps::FileStamps};
use crate::program;
use sluice_base::threads::Lock;

/// The keys that hide refs from clients (git-config(1)).
const HIDDEN: [&str; 2] = ["transfer.hiderefs", "uploadpack.hiderefs"];
/// The most answers that a process remembers.
const MAX_KNOWN: usize = 1 << 14;

/// The answers of this process, by question.
static KNOWN: Lock<BTreeMap<[u8; 32], bool>> = Lock::new(BTreeMap::new());

/// Remembers answers after the end of the process. A question is a hash of all that its answer depends on.
pub trait ReachMemory {
    /// The answer to `question`, if it is remembered.
    fn recall(&self, question: &[u8; 32]) -> Option<bool>;
    /// Remembers the `answer` to `question`.
    fn remember(&self, question: &[u8; 32], answer: bool);
}

/// Where walks through history begin.
struct Tips {
    /// As git-rev-list(1) takes them.
    words: Vec<String>,
    /// All that decides where these tips lead. `None` if that is not known.
    state: Option<String>,
}

/// Those of the `commits` that a ref of `repository` leads to which is not hidden. All of them exist there.
pub fn reached(
    repository: &Repository,
    mut commits: Vec<ObjectId>,
    memory: Option<&dyn ReachMemory>,
) -> HashSet<ObjectId> {
    let mut reached = HashSet::new();
    for tips in [branch, shown] {
        if let (false, Some(tips)) = (commits.is_empty(), tips(repository)) {
            let answers = tips.answers(repository, &commits, memory);
            commits.retain(|commit| answers.get(commit) != Some(&true));
            reached.extend(answers.iter().filter_map(|(id, it)| it.then_some(*id)));
        }
    }
    reached
}

/// The current branch, to which most commits belong: one ref is read, however many there are.
fn branch(repository: &Repository) -> Option<Tips> {
    let found = repository.refs.find(BStr::new("HEAD")).ok()??;
    let is_shown = found.name.starts_with(b"refs/") && hidden(repository).is_empty();
    is_shown.then(|| Tips {
        words: vec![found.id.to_string()],
        state: Some(found.id.to_string()),
    })
}

/// All refs that are not hidden.
fn shown(repository: &Repository) -> Option<Tips> {
    let hidden = hidden(repository);
    let exclude = (!hidden.is_empty()).then_some("--exclude-hidden=uploadpack");
    let words = exclude.into_iter().chain(["--glob=refs/*"]);
    let stamps = FileStamps::of_refs(&repository.common_dir, repository.refs.are_files());
    Some(Tips {
        words: words.map(Into::into).collect(),
        state: stamps.map(|stamps| format!("{hidden:?} {stamps:?}")),
    })
}

/// The patterns of refs that clients do not see.
fn hidden(repository: &Repository) -> Vec<&Option<BString>> {
    let variables = repository.config.variables();
    let hidden = variables.filter(|it| HIDDEN.iter().any(|key| it.key == *key));
    hidden.map(|it| &it.value).collect()
}

impl Tips {
    /// Whether these tips lead to each of the `commits`, as far as that is known.
    fn answers(
        &self,
        repository: &Repository,
        commits: &[ObjectId],
        memory: Option<&dyn ReachMemory>,
    ) -> HashMap<ObjectId, bool> {
        let recall = |question: [u8; 32]| {
            let known = KNOWN.lock().get(&question).copied();
            known.or_else(|| memory?.recall(&question))
        };
        let answer = |id: &ObjectId| Some((*id, self.question(repository, id).and_then(recall)?));
        let mut answers: HashMap<_, _> = commits.iter().filter_map(answer).collect();
        let is_unknown = |id: &&ObjectId| !answers.contains_key(*id);
        let unknown: Vec<_> = commits.iter().filter(is_unknown).collect();
        let Some(unreached) = self.unreached(repository, &unknown) else {
            return answers;
        };
        for id in unknown {
            let answer = !unreached.contains(id);
            answers.insert(*id, answer);
            if let Some(question) = self.question(repository, id) {
                let mut known = KNOWN.lock();
                if known.len() >= MAX_KNOWN {
                    known.clear();
                }
                known.insert(question, answer);
                memory.inspect(|memory| memory.remember(&question, answer));
            }
        }
        answers
    }

    /// Commits that these tips do not lead to, with those among `ids`. `None` if git cannot tell, or is not asked.
    fn unreached(&self, repository: &Repository, ids: &[&ObjectId]) -> Option<HashSet<ObjectId>> {
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let words = ["rev-list", "--stdin", "--not"].into_iter();
        let words = words.chain(self.words.iter().map(|it| &**it));
        let words: Vec<_> = words.map(OsStr::new).collect();
        let ask = || program::ask_about(&repository.location, &words, input.as_bytes());
        let output = (!ids.is_empty()).then(ask)??;
        let ids = output.stdout.lines().map(ObjectId::from_hex);
        let can_tell = output.status.success();
        can_tell.then(|| ids.collect::<Result<_, _>>().ok())?
    }

    /// A hash of all that decides whether these tips lead to `commit`, if that is known.
    fn question(&self, repository: &Repository, commit: &ObjectId) -> Option<[u8; 32]> {
        let is_plain = repository.has_plain_parents() && repository.objects.replacements.is_empty();
        let state = self.state.as_ref().filter(|_| is_plain)?;
        let mut hasher = hasher(Kind::Sha256);
        hasher.update(format!("{state} {commit}").as_bytes());
        hasher.try_finalize().ok()?.as_slice().try_into().ok()
    }
}
