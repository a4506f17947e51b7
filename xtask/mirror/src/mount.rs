//! A mounted mirror.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use fuser::{BackgroundSession, Config, MountOption};
use rustix::mount::{UnmountFlags, unmount};

use crate::counters::Counters;
use crate::filesystem::{Behavior, Mirror, THREADS};

/// Its page cache is empty at first.
pub(crate) struct Mount {
    /// Nothing once the mirror is unmounted.
    session: Option<BackgroundSession>,
    point: PathBuf,
    counters: Arc<Counters>,
}

impl Mount {
    pub(crate) fn new(directory: &Path, point: &Path, behavior: Behavior) -> Result<Self> {
        let directory = directory
            .canonicalize()
            .with_context(|| format!("no directory '{}'", directory.display()))?;
        let counters = Arc::new(Counters::default());
        let mirror = Mirror::new(&directory, behavior, Arc::clone(&counters));
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::RO,
            MountOption::DefaultPermissions,
            MountOption::FSName("cold-mirror".to_owned()),
        ];
        config.n_threads = Some(THREADS);
        let session = fuser::spawn_mount(mirror, point, &config)
            .with_context(|| format!("could not mount a mirror at '{}'", point.display()))?;
        Ok(Self {
            session: Some(session),
            point: point.to_owned(),
            counters,
        })
    }

    /// Unmounts the mirror and returns what was asked of it.
    pub(crate) fn finish(mut self) -> Result<Arc<Counters>> {
        self.unmount().context("could not unmount a mirror")?;
        Ok(Arc::clone(&self.counters))
    }

    fn unmount(&mut self) -> io::Result<()> {
        let Some(session) = self.session.take() else {
            return Ok(());
        };
        // The kernel may close the last file of a process after the process has ended, and refuses to unmount until
        // then. Only root can detach a mirror that is in use.
        let ended = match unmount(&self.point, UnmountFlags::DETACH) {
            Ok(()) => session.join(),
            Err(_) => session.umount_and_join(),
        };
        match ended {
            // A thread that asks for the next request while the mirror is unmounted may get this answer.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(()),
            ended => ended,
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Only after another failure, which is the one to report.
        let _ = self.unmount();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{self, Write as _};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use tempfile::TempDir;

    use super::Mount;
    use crate::filesystem::Behavior;

    /// A mirror of `source` and the directory that shows it, unless this machine refuses.
    fn mirror(source: &Path, latency_ms: u64, fail_after: Option<u64>) -> Option<(Mount, TempDir)> {
        let point = tempfile::tempdir().unwrap();
        let behavior = Behavior {
            latency: Duration::from_millis(latency_ms),
            fail_after,
        };
        match Mount::new(source, point.path(), behavior) {
            Ok(mount) => Some((mount, point)),
            Err(error) => {
                // Not by the macro, whose output nobody sees of a test that passes.
                let _ = writeln!(io::stderr(), "SKIP: {error:#}");
                None
            }
        }
    }

    #[test]
    fn a_mirror_shows_a_directory_and_waits() {
        let source = tempfile::tempdir().unwrap();
        let inner = source.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let content = vec![7; 300_000];
        fs::write(inner.join("file"), &content).unwrap();
        fs::set_permissions(inner.join("file"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("inner/file", source.path().join("link")).unwrap();
        let Some((mount, point)) = mirror(source.path(), 20, None) else {
            return;
        };
        let shown = |name: &str| point.path().join(name);

        let started = Instant::now();
        assert_eq!(fs::read(shown("link")).unwrap(), content);
        assert!(started.elapsed() >= Duration::from_millis(20));
        assert_eq!(fs::read(shown("link")).unwrap(), content);
        let metadata = fs::metadata(shown("inner/file")).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o750);
        assert!(!shown("absent").exists());
        assert!(!shown("absent").exists());
        let names = fs::read_dir(point.path()).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["inner", "link"]);
        assert!(fs::write(shown("new"), "").is_err());

        // Names and pages are cached: the first read of a file asks for each, the second for none.
        let counts = mount.finish().unwrap().to_string();
        let begins = r#"{"lookup":5,"getattr":1,"open":2,"readdir":1,"readlink":1,"read":"#;
        assert!(counts.starts_with(begins), "{counts}");
        assert!(counts.contains(r#""read_bytes":300000,"#), "{counts}");
    }

    /// git maps packs, so this test reads through page faults.
    #[test]
    fn git_works_on_a_mirror_until_reads_fail() {
        let git = |directory: &Path, words: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]);
            let output = git.args(words).current_dir(directory).output();
            let output = output.unwrap();
            output.status.success().then_some(output.stdout)
        };
        let source = tempfile::tempdir().unwrap();
        let source = source.path();
        fs::write(source.join("file"), "content\n".repeat(10_000)).unwrap();
        for words in ["init", "add .", "commit -m one", "repack -ad"] {
            let words: Vec<_> = words.split(' ').collect();
            assert!(git(source, &words).is_some(), "{words:?}");
        }
        let archive = |directory: &Path| git(directory, &["archive", "HEAD"]);
        let Some((mount, point)) = mirror(source, 1, None) else {
            return;
        };
        assert_eq!(archive(point.path()), archive(source));
        let counts = mount.finish().unwrap().to_string();
        assert!(!counts.contains(r#""read":0,"#), "{counts}");

        let (mount, point) = mirror(source, 1, Some(3)).unwrap();
        assert_eq!(archive(point.path()), None);
        mount.finish().unwrap();
    }
}
