//! Settings of the kernel that weir changes, and restores: when weir ends, and when it is started
//! after it was killed.
//!
//! Before any change, weir writes a note: the former value, and the new one. The note lies where
//! the settings do: in memory (`/run`). Both outlive a process that is killed, and neither outlives
//! the machine's next start. A process that opens the note first restores the settings of its
//! predecessor. A setting that another program changed meanwhile is left alone.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The settings of a network namespace, as the thread that reads sees it.
const ROOT: &str = "/proc/sys/net";
/// Identity of the namespace: `net:[4026531840]`.
const NAMESPACE: &str = "/proc/thread-self/ns/net";

/// A setting that weir changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Changed {
    /// Below `/proc/sys/net`: `mptcp/blackhole_timeout`.
    name: String,
    before: String,
    /// All values that weir set: a note does not show which of them is the present one.
    ours: Vec<String>,
}

/// Changed settings of the network namespace of the calling thread; all calls must come from that
/// namespace. Dropping this value restores them.
#[derive(Debug)]
pub struct Sysctls {
    root: PathBuf,
    note: PathBuf,
    namespace: String,
    changed: Vec<Changed>,
}

impl Sysctls {
    /// Restores the settings in the note at this path, if there is one, and will note changes there
    /// from now on. One note belongs to one process at a time. A note of another network namespace
    /// does not apply to this one, and is discarded.
    ///
    /// # Errors
    /// The note cannot be read, or its settings cannot be restored.
    pub fn open(note: &Path) -> io::Result<Self> {
        let namespace = fs::read_link(NAMESPACE).map_err(at(Path::new(NAMESPACE)))?;
        Self::below(Path::new(ROOT), note, &namespace.to_string_lossy())
    }

    fn below(root: &Path, note: &Path, namespace: &str) -> io::Result<Self> {
        let mut sysctls = Self {
            root: root.to_owned(),
            note: note.to_owned(),
            namespace: namespace.to_owned(),
            changed: Vec::new(),
        };
        match fs::read_to_string(note) {
            Ok(text) => sysctls.changed = noted(&text, namespace),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(sysctls),
            Err(error) => return Err(at(note)(error)),
        }
        sysctls.restore()?;
        Ok(sysctls)
    }

    /// Returns the value of a setting. `None`: this kernel lacks it.
    ///
    /// # Errors
    /// The setting cannot be read, or the name is invalid.
    pub fn get(&self, name: &str) -> io::Result<Option<String>> {
        let path = self.path(name)?;
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(&path)(error)),
        }
    }

    /// Changes a setting, named as below `/proc/sys/net`: `mptcp/blackhole_timeout`. The value
    /// before the first change will be restored. `false`: this kernel does not have the setting.
    ///
    /// # Errors
    /// The setting cannot be read or written, or the note cannot: then nothing is changed.
    pub fn set(&mut self, name: &str, value: &str) -> io::Result<bool> {
        let path = self.path(name)?;
        if value.contains(['\n', '\t']) {
            let why = format!("{value:?} is not a valid value of a setting");
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        let Some(before) = self.get(name)? else {
            return Ok(false);
        };
        if before == value {
            return Ok(true);
        }
        let old = self.changed.clone();
        match self.changed.iter_mut().find(|known| known.name == name) {
            Some(known) if known.ours.iter().any(|own| own == value) => {}
            Some(known) => known.ours.push(value.to_owned()),
            None => self.changed.push(Changed {
                name: name.to_owned(),
                before,
                ours: vec![value.to_owned()],
            }),
        }
        let written = self
            .write_note()
            .and_then(|()| fs::write(&path, value).map_err(at(&path)));
        if let Err(error) = written {
            self.changed = old;
            // A note of a change that was not made does no harm: the setting has another value than
            // weir's.
            let _ = self.write_note();
            return Err(error);
        }
        Ok(true)
    }

    /// Restores all settings that were changed, and removes the note. A setting that cannot be
    /// restored stays noted, and does not keep the rest from being restored.
    ///
    /// # Errors
    /// The first failure.
    pub fn restore(&mut self) -> io::Result<()> {
        let mut failed = None;
        for changed in std::mem::take(&mut self.changed) {
            if let Err(error) = self.put_back(&changed) {
                failed = failed.or(Some(error));
                self.changed.push(changed);
            }
        }
        failed.map_or_else(|| self.write_note(), Err)
    }

    fn put_back(&self, changed: &Changed) -> io::Result<()> {
        // Another program changed the setting; or the module that had it was unloaded.
        if !self
            .get(&changed.name)?
            .is_some_and(|now| changed.ours.contains(&now))
        {
            return Ok(());
        }
        let path = self.path(&changed.name)?;
        fs::write(&path, &changed.before).map_err(at(&path))
    }

    /// Writes the note to a temporary file and renames it: a reader finds the whole old one or the
    /// whole new one.
    fn write_note(&self) -> io::Result<()> {
        if self.changed.is_empty() {
            return match fs::remove_file(&self.note) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(at(&self.note)(error)),
                _ => Ok(()),
            };
        }
        let mut text = format!("{}\n", self.namespace);
        for Changed { name, before, ours } in &self.changed {
            text.push_str(&format!("{name}\t{before}\t{}\n", ours.join("\t")));
        }
        let beside = self.note.with_added_extension("new");
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &self.note))
            .map_err(at(&self.note))
    }

    fn path(&self, name: &str) -> io::Result<PathBuf> {
        let part = |part: &str| !matches!(part, "" | "." | "..");
        if name.split('/').all(part) && !name.contains(['\n', '\t', '\0']) {
            return Ok(self.root.join(name));
        }
        let why = format!("{name:?} is not a valid name of a setting");
        Err(io::Error::new(ErrorKind::InvalidInput, why))
    }
}

impl Drop for Sysctls {
    fn drop(&mut self) {
        // A failed setting is still noted, for the next start.
        let _ = self.restore();
    }
}

/// Parses the part of a note for this namespace. Malformed lines are skipped: only a process that
/// may write the settings can write the note, and the note is always complete.
fn noted(text: &str, namespace: &str) -> Vec<Changed> {
    let Some(("", rest)) = text
        .strip_prefix(namespace)
        .and_then(|t| t.split_once('\n'))
    else {
        return Vec::new();
    };
    rest.lines()
        .filter_map(|line| {
            let mut parts = line.split('\t').map(str::to_owned);
            Some(Changed {
                name: parts.next()?,
                before: parts.next()?,
                ours: parts.collect(),
            })
        })
        .collect()
}

fn at(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use testing::Directory;

    use super::*;

    struct Scene(Directory);

    impl Scene {
        fn new() -> Self {
            let root = Directory::new();
            fs::create_dir_all(root.join("net/mptcp")).expect("directory");
            let scene = Self(root);
            scene.write("blackhole_timeout", "3600\n");
            scene.write("stale_loss_cnt", "4\n");
            scene
        }

        fn open(&self, namespace: &str) -> io::Result<Sysctls> {
            Sysctls::below(&self.0.join("net"), &self.note(), namespace)
        }

        fn note(&self) -> PathBuf {
            self.0.join("note")
        }

        fn write(&self, name: &str, value: &str) {
            fs::write(self.0.join("net/mptcp").join(name), value).expect("written");
        }

        fn read(&self, name: &str) -> String {
            let text = fs::read_to_string(self.0.join("net/mptcp").join(name)).expect("read");
            text.trim().to_owned()
        }
    }

    const TIMEOUT: &str = "mptcp/blackhole_timeout";

    #[test]
    fn what_was_is_put_back_at_the_end() {
        let scene = Scene::new();
        let mut sysctls = scene.open("net:[1]").expect("open");
        for value in ["0", "5", "0"] {
            assert!(sysctls.set(TIMEOUT, value).expect("set"));
            assert_eq!(scene.read("blackhole_timeout"), value);
        }
        assert!(scene.note().exists());
        assert!(!sysctls.set("mptcp/none", "1").expect("no such setting"));
        assert!(sysctls.set("mptcp/stale_loss_cnt", "4").expect("as it is"));
        drop(sysctls);
        assert_eq!(scene.read("blackhole_timeout"), "3600");
        assert!(!scene.note().exists());
    }

    #[test]
    fn what_a_killed_one_left_is_put_back_by_the_next() {
        let scene = Scene::new();
        let mut sysctls = scene.open("net:[1]").expect("open");
        sysctls.set(TIMEOUT, "5").expect("set");
        sysctls.set(TIMEOUT, "0").expect("set");
        sysctls.set("mptcp/stale_loss_cnt", "2").expect("set");
        std::mem::forget(sysctls);
        // The process was killed after it had noted the second value, before it had set it.
        scene.write("blackhole_timeout", "5\n");
        // Another program sets another value meanwhile.
        scene.write("stale_loss_cnt", "7\n");
        let next = scene.open("net:[1]").expect("open");
        assert_eq!(scene.read("blackhole_timeout"), "3600");
        assert_eq!(scene.read("stale_loss_cnt"), "7");
        assert!(!scene.note().exists());
        drop(next);
    }

    #[test]
    fn a_note_of_another_namespace_is_thrown_away() {
        let scene = Scene::new();
        let mut sysctls = scene.open("net:[1]").expect("open");
        sysctls.set(TIMEOUT, "0").expect("set");
        std::mem::forget(sysctls);
        for other in ["net:[2]", "net:[1"] {
            let note = fs::read_to_string(scene.note()).expect("a note");
            drop(scene.open(other).expect("open"));
            assert_eq!(scene.read("blackhole_timeout"), "0");
            assert!(!scene.note().exists());
            fs::write(scene.note(), note).expect("written");
        }
    }

    #[test]
    fn nothing_is_changed_that_is_not_noted() {
        let scene = Scene::new();
        let note = scene.0.join("no/such/folder");
        let mut sysctls =
            Sysctls::below(&scene.0.join("net"), &note, "net:[1]").expect("no note yet");
        let error = sysctls.set(TIMEOUT, "0").unwrap_err().to_string();
        assert!(error.contains("no/such/folder"), "{error}");
        assert_eq!(scene.read("blackhole_timeout"), "3600");
    }

    #[test]
    fn names_and_values_that_lead_elsewhere_are_refused() {
        let scene = Scene::new();
        let mut sysctls = scene.open("net:[1]").expect("open");
        for name in ["", "/etc/passwd", "../net/mptcp", "mptcp//x", "mptcp/a\tb"] {
            let error = sysctls.set(name, "0").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        }
        assert!(sysctls.set(TIMEOUT, "0\n1").is_err());
        assert_eq!(scene.read("blackhole_timeout"), "3600");
    }
}
