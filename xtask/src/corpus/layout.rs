//! Which files there are: directories, names, modes, kinds and sizes, before a byte is made.

use std::collections::HashSet;

use super::content::{Content, Kind};
use super::random::Random;
use super::words::ROOTS;

/// One file of the tree at HEAD. Its place in the plan is also its rank in the history: files
/// early in the plan come first and change most.
pub(super) struct PlannedFile {
    /// From the top of the tree, without anything that `git fast-import` wants quoted.
    pub(super) path: String,
    /// As in a tree entry: `100644`, `100755` or `120000`.
    pub(super) mode: &'static str,
    pub(super) content: Content,
}

/// Lays out `files` files that together have about `bytes` bytes.
pub(super) fn plan(files: u32, bytes: u64, seed: u64) -> Vec<PlannedFile> {
    let mut random = Random::new(&[seed, 1]);
    let mut tree = Tree::grow(files, &mut random);
    while tree.files.len() < files as usize {
        tree.add_file(&mut random);
    }
    tree.files.truncate(files as usize);
    random.shuffle(&mut tree.files);
    let weights: Vec<u64> = (0..tree.files.len())
        .map(|rank| weight(rank, &mut random))
        .collect();
    set_sizes(&mut tree.files, &weights, bytes);
    tree.files
}

/// A path has at most this many names, that of the file included.
const MAX_DEPTH: usize = 8;

/// Average number of files in a directory.
const FILES_PER_DIRECTORY: u32 = 14;

/// So many of a hundred files began as copies of a file beside them. It makes half of the blobs at
/// HEAD deltas, as in a large repository with a long history.
const COPIED_PERCENT: u64 = 85;

/// Files in a directory that others are copied from, for each kind.
const FAMILIES: u64 = 2;

/// The directories, and the files placed in them so far.
struct Tree {
    directories: Vec<Directory>,
    files: Vec<PlannedFile>,
    paths: HashSet<String>,
    seed: u64,
}

struct Directory {
    /// Empty at the top, else ends in a slash.
    path: String,
    depth: usize,
    /// Name of the file added last, for a symbolic link to point at.
    last_name: String,
}

impl Tree {
    fn grow(files: u32, random: &mut Random) -> Self {
        let top = Directory {
            path: String::new(),
            depth: 0,
            last_name: String::new(),
        };
        let mut tree = Tree {
            directories: vec![top],
            files: Vec::with_capacity(files as usize),
            paths: HashSet::new(),
            seed: random.next(),
        };
        tree.add_build_files(0, random);
        for _ in 0..files / FILES_PER_DIRECTORY {
            tree.add_directory(random);
        }
        tree
    }

    /// Adds a directory under the shallower of two, which keeps the tree broad at the top.
    fn add_directory(&mut self, random: &mut Random) {
        let count = self.directories.len() as u64;
        let (one, two) = (random.below(count) as usize, random.below(count) as usize);
        let depth = |index: usize| self.directories[index].depth;
        let parent = if depth(one) <= depth(two) { one } else { two };
        if depth(parent) + 1 == MAX_DEPTH {
            return;
        }
        let stem = format!(
            "{}{}",
            self.directories[parent].path,
            directory_name(random)
        );
        let path = self.unused(stem, "/");
        let depth = self.directories[parent].depth + 1;
        self.directories.push(Directory {
            path,
            depth,
            last_name: String::new(),
        });
        self.add_build_files(self.directories.len() - 1, random);
    }

    /// The files that have the same name everywhere, and much the same text.
    fn add_build_files(&mut self, directory: usize, random: &mut Random) {
        for (name, percent) in [("Makefile", 60), ("Kconfig", 30), ("README.md", 8)] {
            if random.chance(percent) {
                let kind = if name == "README.md" {
                    Kind::Prose
                } else {
                    Kind::Build
                };
                let path = format!("{}{name}", self.directories[directory].path);
                self.paths.insert(path.clone());
                self.place(directory, path, kind, None, random);
            }
        }
    }

    fn add_file(&mut self, random: &mut Random) {
        let directory = self.some_directory(random);
        let kind = some_kind(random);
        let kind = match kind {
            Kind::Link if self.directories[directory].last_name.is_empty() => Kind::Code,
            other => other,
        };
        let family = self.some_family(directory, kind, random);
        let (stem, suffix) = file_name(kind, family, random);
        let stem = format!("{}{stem}", self.directories[directory].path);
        let path = self.unused(stem, &suffix);
        self.place(directory, path, kind, family, random);
    }

    /// The seed of the files that this one began as a copy of.
    fn some_family(&self, directory: usize, kind: Kind, random: &mut Random) -> Option<u64> {
        let copied = kind.is_copied() && random.chance(COPIED_PERCENT);
        let keys = [
            self.seed,
            directory as u64,
            kind as u64,
            random.skewed(FAMILIES),
        ];
        copied.then(|| Random::new(&keys).next())
    }

    /// Half of the files are spread evenly, half crowd into few directories, the deepest first.
    fn some_directory(&self, random: &mut Random) -> usize {
        let count = self.directories.len() as u64;
        let from_end = if random.chance(50) {
            random.below(count)
        } else {
            random.skewed(count)
        };
        (count - 1 - from_end) as usize
    }

    fn place(
        &mut self,
        directory: usize,
        path: String,
        kind: Kind,
        family: Option<u64>,
        random: &mut Random,
    ) {
        let topic = Random::new(&[self.seed, directory as u64]).next();
        let directory = &mut self.directories[directory];
        let target = if kind == Kind::Link {
            directory.last_name.clone()
        } else {
            String::new()
        };
        directory.last_name = path[directory.path.len()..].to_owned();
        let mode = match kind {
            Kind::Script => "100755",
            Kind::Link => "120000",
            _ => "100644",
        };
        let own = random.next();
        let (seed, copy) = family.map_or((own, 0), |family| (family, own));
        let content = Content {
            kind,
            topic,
            seed,
            copy,
            blocks: 1,
            target,
        };
        self.files.push(PlannedFile {
            path,
            mode,
            content,
        });
    }

    /// `stem` and `suffix`, with a number between them when that path is taken.
    fn unused(&mut self, stem: String, suffix: &str) -> String {
        let mut path = format!("{stem}{suffix}");
        let mut number = 2;
        while !self.paths.insert(path.clone()) {
            path = format!("{stem}{number}{suffix}");
            number += 1;
        }
        path
    }
}

fn directory_name(random: &mut Random) -> String {
    match random.below(10) {
        0..6 => random.pick(&ROOTS).to_owned(),
        6..9 => format!("{}-{}", random.pick(&ROOTS), random.pick(&ROOTS)),
        _ => format!(
            "{}_{}_{}",
            random.pick(&ROOTS),
            random.pick(&ROOTS),
            random.pick(&ROOTS)
        ),
    }
}

/// Shares as counted, roughly, in large source trees.
fn some_kind(random: &mut Random) -> Kind {
    match random.below(1000) {
        0..780 => Kind::Code,
        780..810 => Kind::Script,
        810..870 => Kind::Prose,
        870..930 => Kind::Table,
        930..965 => Kind::Binary,
        965..993 => Kind::Tiny,
        _ => Kind::Link,
    }
}

/// A name in two parts, between which a number may come. Files of a family have the same second
/// part, since git looks for delta bases among files whose paths end alike.
fn file_name(kind: Kind, family: Option<u64>, random: &mut Random) -> (String, String) {
    let mut stem = random.pick(&ROOTS).to_owned();
    let separator = if kind == Kind::Prose && random.chance(5) {
        " "
    } else {
        "_"
    };
    // A few names are longer than the 100 bytes of a tar header's name field.
    let further = if random.chance(1) {
        16
    } else {
        random.below(3)
    };
    for _ in 0..further {
        stem = stem + separator + random.pick(&ROOTS);
    }
    if random.below(500) == 0 {
        stem += "_größe";
    }
    (
        stem,
        family.map_or_else(
            || file_name_end(kind, random),
            |family| family_name_end(kind, family),
        ),
    )
}

fn family_name_end(kind: Kind, family: u64) -> String {
    let mut random = Random::new(&[family]);
    let (one, two) = (random.pick(&ROOTS), random.pick(&ROOTS));
    format!("-{one}-{two}{}", file_name_end(kind, &mut random))
}

/// The extension; none of these names is one that a directory can have.
fn file_name_end(kind: Kind, random: &mut Random) -> String {
    let choices: &[&str] = match kind {
        Kind::Code => &[".c", ".c", ".c", ".h", ".h", ".rs", ".go", ".ts"],
        Kind::Script => &[".sh", ".py", ".pl"],
        Kind::Prose => &[".rst", ".md", ".txt"],
        Kind::Table => &[".dts", ".json", ".csv", ".yaml"],
        Kind::Binary => &[".png", ".bin", ".ttf", ".gz"],
        Kind::Build => &[".mk"],
        Kind::Tiny => &[".version", ".in", ".empty"],
        Kind::Link => &["-latest"],
    };
    random.pick(choices).to_owned()
}

/// One file in so many is a large table.
const LARGE_FILE_EVERY: usize = 8000;

/// Relative size of a file: log-normal, nearly. The sum of eight even draws is close to a normal
/// number; it counts 1/256 octaves, and two to its power is taken piece by piece.
fn weight(rank: usize, random: &mut Random) -> u64 {
    let exponent: u64 = (0..8).map(|_| random.below(590)).sum();
    let weight = (256 + exponent % 256) << (exponent / 256);
    let large = rank % LARGE_FILE_EVERY == LARGE_FILE_EVERY / 2;
    if large {
        TYPICAL_WEIGHT * (600 + random.below(1400))
    } else {
        weight
    }
}

/// The weight in the middle: 4 × 590 / 256 = 9.2 octaves above 256.
const TYPICAL_WEIGHT: u64 = 256 << 9;

/// Turns weights into numbers of blocks, so that everything together has about `bytes` bytes.
fn set_sizes(files: &mut [PlannedFile], weights: &[u64], bytes: u64) {
    let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let mean_block = Kind::ALL.map(Content::mean_block_bytes);
    for (file, &weight) in files.iter_mut().zip(weights) {
        let size = (u128::from(bytes) * u128::from(weight) / total) as u64;
        let content = &mut file.content;
        content.blocks = match content.kind {
            Kind::Tiny => u64::from(!file.path.ends_with(".empty")),
            Kind::Link => 0,
            kind => (size / mean_block[kind as usize]).max(1),
        };
    }
}
