//! Small files that are kept over a restart.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tracing::error;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Reads one, and makes its folder. One that is not there says nothing; what cannot be read is put
/// aside, and `lost` told of it: a router forwards all the same.
pub fn read(path: &Path, lost: &str) -> Vec<u8> {
    if let Some(folder) = path.parent() {
        // Where it cannot be made, there is nothing to read, and who writes is told why not.
        let _ = fs::create_dir_all(folder);
    }
    let read = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Ok(file) if file.len() > LONGEST => {
            let what = format!("it has more than {LONGEST} bytes");
            Err(io::Error::new(io::ErrorKind::InvalidData, what))
        }
        found => found.and_then(|_| fs::read(path)),
    };
    read.unwrap_or_else(|error| {
        put_aside(path, &error, lost);
        Vec::new()
    })
}

/// What is damaged is kept beside, for whoever looks into it.
pub fn put_aside(path: &Path, why: &dyn std::error::Error, lost: &str) {
    let beside = path.with_extension("damaged");
    let kept = match fs::rename(path, &beside) {
        Ok(()) => format!("it is {} now", beside.display()),
        Err(error) => format!("nor put aside: {error}"),
    };
    error!("{} cannot be read ({why}), {kept}: {lost}", path.display());
}

/// The folder in which it is written.
pub fn folder(path: &Path) -> PathBuf {
    path.parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// A file beside this one, by the same name and more: no other's, whatever dots they have.
pub fn beside(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    name.into()
}

/// Writes one: all of it, or the former one stays.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, octets: &[u8]) -> io::Result<()> {
    let beside = beside(path, ".new");
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(octets)?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // What is left of it is of no use.
        let _ = fs::remove_file(&beside);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beside_others_are_of_one_each() {
        let of = |name| beside(Path::new(name), ".new");
        assert_eq!(of("/v/key.a"), Path::new("/v/key.a.new"));
        assert_eq!(of("/v/key.b"), Path::new("/v/key.b.new"));
        assert_eq!(of("key"), Path::new("key.new"));
    }
}
