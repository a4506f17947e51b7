//! The commits, as a stream for `git fast-import`: which files come, which change, and when.

use std::io::{self, Write};
use std::ops::Range;

use super::content::FixedRecords;
use super::layout::PlannedFile;
use super::random::Random;

/// Writes commits one after the other; between two it knows only how often each file has changed.
pub(super) struct History<'a> {
    files: &'a [PlannedFile],
    big_blob: Option<FixedRecords>,
    commits: u32,
    seed: u64,
    /// Edits of each file present so far.
    edits: Vec<u32>,
    /// Bytes of each file present so far.
    sizes: Vec<u64>,
    /// The file being written.
    buffer: Vec<u8>,
}

/// The first commit has so many of a hundred files; the others come one by one.
const INITIAL_PERCENT: u64 = 85;

impl<'a> History<'a> {
    pub(super) fn new(
        files: &'a [PlannedFile],
        big_blob: Option<FixedRecords>,
        commits: u32,
        seed: u64,
    ) -> Self {
        let (edits, sizes, buffer) = (Vec::new(), Vec::new(), Vec::new());
        History {
            files,
            big_blob,
            commits,
            seed,
            edits,
            sizes,
            buffer,
        }
    }

    /// Writes the commits of one run of `git fast-import`, which follow those of the run before.
    pub(super) fn write(&mut self, commits: Range<u32>, out: &mut impl Write) -> io::Result<()> {
        for commit in commits.clone() {
            self.write_commit_header(commit, commit == commits.start, out)?;
            self.write_big_blob(commit, out)?;
            self.write_edits(commit, out)?;
            self.write_new_files(commit, out)?;
            if commit == self.commits / 10 {
                write_old_tag(commit, out)?;
            }
        }
        out.write_all(b"done\n")
    }

    /// Bytes of all files after the last commit written.
    pub(super) fn bytes_at_head(&self) -> u64 {
        let big_blob = self.big_blob.as_ref().map_or(0, |records| records.size);
        self.sizes.iter().sum::<u64>() + big_blob
    }

    fn write_commit_header(
        &self,
        commit: u32,
        resumed: bool,
        out: &mut impl Write,
    ) -> io::Result<()> {
        writeln!(out, "commit refs/heads/main")?;
        writeln!(out, "author {}", person(commit))?;
        writeln!(out, "committer {}", person(commit))?;
        let message = format!("Change {} of {}\n", commit + 1, self.commits);
        write!(out, "data {}\n{message}", message.len())?;
        if resumed && commit > 0 {
            writeln!(out, "from refs/heads/main^0")?;
        }
        Ok(())
    }

    /// The big blob comes with the first commit and changes once, in the middle.
    fn write_big_blob(&self, commit: u32, out: &mut impl Write) -> io::Result<()> {
        let Some(records) = &self.big_blob else {
            return Ok(());
        };
        let edits = match commit {
            0 => 0,
            _ if commit == self.commits / 2 => 1,
            _ => return Ok(()),
        };
        write!(
            out,
            "M 100644 inline big.records\ndata {}\n",
            records.len(edits)
        )?;
        records.write(edits, out)?;
        out.write_all(b"\n")
    }

    fn write_edits(&mut self, commit: u32, out: &mut impl Write) -> io::Result<()> {
        for file in self.files_to_edit(commit) {
            self.edits[file] += 1;
            self.write_file(file, out)?;
        }
        Ok(())
    }

    /// Half of the edits go anywhere, half to the same few files again and again. Files without
    /// blocks (symbolic links, empty files) never change.
    fn files_to_edit(&self, commit: u32) -> Vec<usize> {
        let present = self.edits.len() as u64;
        if present == 0 {
            return Vec::new();
        }
        let mut random = Random::new(&[self.seed, 2, u64::from(commit)]);
        let most = (present / 8).clamp(1, 900);
        let count = 4 + random.skewed(most);
        let mut files: Vec<usize> = (0..count)
            .map(|_| {
                if random.chance(50) {
                    random.below(present)
                } else {
                    random.skewed(present)
                }
            })
            .map(|file| file as usize)
            .filter(|&file| self.files[file].content.blocks > 0)
            .collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    fn write_new_files(&mut self, commit: u32, out: &mut impl Write) -> io::Result<()> {
        for file in self.edits.len()..self.files_after(commit) {
            self.edits.push(0);
            self.sizes.push(0);
            self.write_file(file, out)?;
        }
        Ok(())
    }

    fn files_after(&self, commit: u32) -> usize {
        let all = self.files.len() as u64;
        let last = u64::from(self.commits - 1);
        let initial = if last == 0 {
            all
        } else {
            all * INITIAL_PERCENT / 100
        };
        (initial + (all - initial) * u64::from(commit) / last.max(1)) as usize
    }

    fn write_file(&mut self, file: usize, out: &mut impl Write) -> io::Result<()> {
        let PlannedFile {
            path,
            mode,
            content,
        } = &self.files[file];
        self.buffer.clear();
        content.render(self.edits[file], &mut self.buffer);
        self.sizes[file] = self.buffer.len() as u64;
        write!(out, "M {mode} inline {path}\ndata {}\n", self.buffer.len())?;
        out.write_all(&self.buffer)?;
        out.write_all(b"\n")
    }
}

/// Name and time of a commit: one an hour, from a fixed start.
fn person(commit: u32) -> String {
    format!(
        "A U Thor <author@example.com> {} +0000",
        1_700_000_000 + u64::from(commit) * 3600
    )
}

fn write_old_tag(commit: u32, out: &mut impl Write) -> io::Result<()> {
    let message = "A tenth of the history\n";
    write!(
        out,
        "tag old\nfrom refs/heads/main\ntagger {}\n",
        person(commit)
    )?;
    write!(out, "data {}\n{message}", message.len())
}
