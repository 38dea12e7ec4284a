//! Roles chosen by hand, kept over a restart: a line for each, `DEVICE ROLE`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use cables_core::Role;
use tracing::warn;

use runtime::persisted;

/// The file and its content.
#[derive(Clone, Debug)]
pub struct Choices {
    file: persisted::Writer,
    /// By device.
    pub chosen: BTreeMap<String, Role>,
}

impl Choices {
    /// Reads the choices, and creates their folder. A missing file is empty; an unreadable one is
    /// logged and set aside: the router forwards all the same.
    pub fn open(path: &Path) -> Self {
        let file = path.display();
        let octets = persisted::read(path, "the choices for ports are lost");
        let mut chosen = BTreeMap::new();
        for (number, line) in String::from_utf8_lossy(&octets).lines().enumerate() {
            match line
                .split_once(' ')
                .map(|(device, role)| (device, role.parse()))
            {
                Some((device, Ok(role))) => drop(chosen.insert(device.to_owned(), role)),
                _ if line.trim().is_empty() => {}
                _ => {
                    let number = number + 1;
                    warn!(
                        "{file}:{number}: skipping a malformed line: a line must be `DEVICE ROLE`"
                    );
                }
            }
        }
        let file = persisted::Writer::new(path.to_owned());
        Self { file, chosen }
    }

    /// Returns the folder of the file.
    pub fn folder(&self) -> PathBuf {
        self.file.folder()
    }

    /// Returns the file, if it lacks the last choice.
    pub fn unwritten(&self) -> Option<String> {
        let owes = self.file.is_dirty() && !self.file.is_busy();
        owes.then(|| self.file.path().display().to_string())
    }

    /// Writes the file as a whole, or leaves the old one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self) -> impl Future<Output = io::Result<()>> + use<> {
        let lines = self
            .chosen
            .iter()
            .map(|(device, role)| format!("{device} {}\n", role.word()));
        self.file.write(lines.collect::<String>().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn what_was_chosen_is_read_again() {
        let folder = std::env::temp_dir().join(format!("weir-cables-{}", std::process::id()));
        let path = folder.join("of/cables");
        let mut choices = Choices::open(&path);
        assert!(choices.chosen.is_empty());
        choices.chosen.insert("eth1".into(), Role::Mesh);
        choices.chosen.insert("lan.2".into(), Role::Client);
        choices.write().await.expect("to be written");
        assert_eq!(
            fs::read_to_string(&path).expect("a file"),
            "eth1 mesh\nlan.2 client\n"
        );
        let again = Choices::open(&path);
        assert_eq!(again.chosen, choices.chosen);
        fs::write(&path, "eth1 mesh\n\neth2\neth3 king\neth4 loop\n").expect("a file");
        let some = Choices::open(&path);
        assert_eq!(some.chosen.keys().collect::<Vec<_>>(), ["eth1", "eth4"]);
        fs::write(&path, vec![b'x'; 70_000]).expect("a file");
        assert!(Choices::open(&path).chosen.is_empty());
        assert!(
            path.with_extension("damaged").exists() && !path.exists(),
            "put aside"
        );
        fs::write(&path, b"eth1 mesh\neth2 \xff\n").expect("a file");
        assert_eq!(Choices::open(&path).chosen.len(), 1);
        fs::remove_dir_all(&folder).expect("to go");
    }
}
