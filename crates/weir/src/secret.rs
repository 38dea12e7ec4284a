//! Files that hold a secret, in their first line.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

/// Bytes of a file that holds a secret, at most.
const SECRET: u64 = 65_536;

/// The first line of a file that holds a secret. To be called with all rights.
///
/// # Errors
/// It cannot be read, or is no file.
pub fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    // One that is a pipe would be waited for.
    let mut options = OpenOptions::new();
    let file = options
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .read(true)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut octets = Vec::new();
    file.take(SECRET).read_to_end(&mut octets)?;
    let line = octets.split(|octet| *octet == b'\n').next();
    Ok(line.unwrap_or_default().trim_ascii().to_owned())
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_secret_is_a_line_of_a_file() {
        let folder = std::env::temp_dir().join(format!("weir-secrets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (file, pipe) = (folder.join("file"), folder.join("pipe"));
        std::fs::write(&file, "  two words \r\nmore\n").expect("written");
        assert_eq!(first_line(&file).expect("a line"), b"two words");
        std::fs::write(&file, "").expect("written");
        assert_eq!(first_line(&file).expect("none"), b"");
        mkfifo(&pipe, Mode::S_IRWXU).expect("a pipe");
        for other in [&pipe, &folder, Path::new("/dev/zero"), &folder.join("none")] {
            assert!(first_line(other).is_err(), "{}", other.display());
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
