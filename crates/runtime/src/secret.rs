//! Reads files with a secret in their first line, and keys that are made once.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use nix::fcntl::OFlag;

/// Maximum size of a file with a secret.
const SECRET: u64 = 65_536;

/// Size of a key's seed.
const SEED: usize = 32;

/// Reads the first line of a file with a secret. Must be called with all rights.
///
/// # Errors
/// The file cannot be read, or is not a regular file.
pub fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    // A blocking open would wait on a pipe.
    let mut options = OpenOptions::new();
    let file = options
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .read(true)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut octets = Vec::new();
    file.take(SECRET).read_to_end(&mut octets)?;
    let line = octets.split(|octet| *octet == b'\n').next();
    Ok(line.unwrap_or_default().trim_ascii().to_owned())
}

/// Reads the seed of a key from a file. Creates a missing file, with its folder. Must be called
/// with all rights.
///
/// # Errors
/// The file cannot be read or written, or holds no key.
pub fn seed(path: &Path) -> io::Result<[u8; SEED]> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => made(path)?,
        read => read?,
    };
    let seed = BASE64.decode(text.trim()).ok();
    let seed = seed.and_then(|seed| seed.try_into().ok());
    seed.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the file has no valid key"))
}

/// Writes the whole key, or nothing: half a key would stay invalid for ever.
fn made(path: &Path) -> io::Result<String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut seed = [0; SEED];
    getrandom::fill(&mut seed).map_err(io::Error::other)?;
    let text = BASE64.encode(seed) + "\n";
    let beside = path.with_added_extension("new");
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    Ok(text)
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

    #[test]
    fn a_key_is_made_once() {
        let folder = std::env::temp_dir().join(format!("weir-seed-{}", std::process::id()));
        let file = folder.join("of/it.key");
        let made = seed(&file).expect("a key");
        assert_ne!(made, [0; SEED]);
        assert_eq!(seed(&file).expect("the same"), made);
        fs::write(&file, "half of").expect("written");
        assert!(seed(&file).is_err());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
