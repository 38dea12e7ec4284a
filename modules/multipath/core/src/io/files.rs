//! Small files that are read and written whole; any program may have replaced them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc::O_NONBLOCK;

/// Opens a regular file to read it. A pipe would wait for a writer, and a device never end.
///
/// # Errors
/// The path cannot be opened, or is not a regular file.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        )),
    }
}

/// Writes a file that only its owner may read, under another name, and moves it into place once it
/// is on the disk: a power cut must not leave half of it. After an error, no file remains.
///
/// # Errors
/// The file cannot be written or moved into place.
pub(super) fn write(
    fresh: &Path,
    content: &[u8],
    place: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.custom_flags(O_NONBLOCK).open(fresh)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| place(&file));
    if written.is_err() {
        let _ = fs::remove_file(fresh);
    }
    written
}

/// Writes the folder of a file to the disk, so that renames and removals in it last.
///
/// # Errors
/// The folder cannot be written to the disk.
pub(super) fn settle(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use testing::Directory;

    use super::*;

    #[test]
    fn what_is_no_file_is_told_at_once() {
        let folder = Directory::new();
        let pipe = folder.join("pipe");
        mkfifo(&pipe, Mode::from_bits_truncate(0o600)).expect("a pipe");
        for path in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
            let told = open(path).expect_err("no file").to_string();
            assert_eq!(told, "not a regular file", "{}", path.display());
        }
        assert!(write(&pipe, b"x", |_| Ok(())).is_err());
    }

    #[test]
    fn nothing_is_left_of_what_fails() {
        let folder = Directory::new();
        let (fresh, path) = (folder.join("new"), folder.join("key"));
        let place = |_: &File| fs::rename(&fresh, &path).and_then(|()| settle(&path));
        write(&fresh, b"first", place).expect("room");
        write(
            &fresh,
            b"second",
            |_| Err(io::ErrorKind::StorageFull.into()),
        )
        .expect_err("no room");
        assert_eq!(fs::read(&path).expect("read"), b"first");
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 1);
    }
}
