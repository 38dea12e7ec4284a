//! Reads files, packed or not, archives or not, and detects the format by the content.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::ops::ControlFlow;
use std::path::{Component, Path};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use tar::{Archive, EntryType};

use crate::error::Error;

/// Limits of reading.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest unpacked file, in bytes. Each file is in memory as a whole.
    pub file: u64,
    /// Largest unpacked archive, in bytes.
    pub archive: u64,
    /// Largest ratio of unpacked to packed size, from `loose` bytes on.
    pub ratio: u64,
    /// See `ratio`.
    pub loose: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file: 64 << 20,
            // Ten years of hours, 300 communities: 40 GB.
            archive: 256 << 30,
            // Hours that are nearly the same: xz made 390 times of the real weeks.
            ratio: 4000,
            loose: 1 << 30,
        }
    }
}

/// A file or a defect.
#[derive(Debug)]
pub enum ArchiveItem<'a> {
    /// A file, whole.
    File {
        /// Path from the given place on: `a.tar.xz/history/b.json`.
        name: &'a str,
        /// Content.
        octets: &'a [u8],
    },
    /// A defect that was skipped.
    Wrong {
        /// Path, as above.
        name: &'a str,
        /// Description of the defect.
        what: String,
    },
}

/// Callback for each find; may end the search.
pub type Visit<'v> = dyn FnMut(ArchiveItem<'_>) -> Result<ControlFlow<()>, Error> + 'v;

/// Limits of entries in an archive, a century of hours, and of reported defects.
const FILES: u64 = 1_000_000;
const WRONG: u64 = 100;
/// Depth of nested archives: one within another.
const DEPTH: usize = 2;
/// Largest long name in an archive, and other metadata of a file there, in bytes.
const NAME: u64 = 64 << 10;
/// Memory limit of xz: the need of `xz -9`, and some.
const XZ: u64 = 80 << 20;
/// Extensions of files that are read, in folders and archives.
pub const ENDINGS: [&str; 8] = [
    ".json", ".csv", ".tsv", ".gz", ".xz", ".tar", ".tgz", ".txz",
];
/// Position and content of the mark of a tar.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// Visits all files of `from`. Each file is unpacked into `room`, one at a time.
pub fn open(
    name: &str,
    from: &mut dyn Read,
    limits: &Limits,
    visit: &mut Visit,
) -> Result<ControlFlow<()>, Error> {
    let packed = Rc::new(Cell::new(0));
    let mut from = Counted {
        inner: from,
        count: Rc::clone(&packed),
    };
    let mut opened = Opened {
        limits,
        packed,
        unpacked: Rc::new(Cell::new(0)),
        files: 0,
        wrong: 0,
        visit,
    };
    let way = opened.open(name, &mut from, 0)?;
    if opened.wrong > WRONG {
        let what = format!("and {} more that is wrong with it", opened.wrong - WRONG);
        return (opened.visit)(ArchiveItem::Wrong { name, what });
    }
    Ok(way)
}

struct Opened<'o, 'v> {
    limits: &'o Limits,
    /// Bytes read, and bytes unpacked from them.
    packed: Rc<Cell<u64>>,
    unpacked: Rc<Cell<u64>>,
    /// Entries of archives.
    files: u64,
    /// Number of defects.
    wrong: u64,
    visit: &'o mut Visit<'v>,
}

impl Opened<'_, '_> {
    /// Opens an archive. `depth`: archives around it.
    fn open(
        &mut self,
        name: &str,
        from: &mut dyn Read,
        depth: usize,
    ) -> Result<ControlFlow<()>, Error> {
        let mut from = BufReader::with_capacity(64 << 10, from);
        let begin = match from.fill_buf() {
            Ok(begin) => begin,
            Err(error) => return self.wrong(name, error.to_string()),
        };
        if begin.starts_with(&[0x1f, 0x8b]) {
            let mut from = self.bounded(MultiGzDecoder::new(from));
            self.unpacked_as(name, &mut from, depth)
        } else if begin.starts_with(b"\xfd7zXZ\0") {
            match Stream::new_stream_decoder(XZ, CONCATENATED) {
                Ok(stream) => {
                    let mut from = self.bounded(XzDecoder::new_stream(from, stream));
                    self.unpacked_as(name, &mut from, depth)
                }
                Err(error) => self.wrong(name, error.to_string()),
            }
        } else if depth == 0 {
            let mut from = self.bounded(from);
            self.unpacked_as(name, &mut from, depth)
        } else {
            // Counted as part of the archive around it.
            self.unpacked_as(name, &mut from, depth)
        }
    }

    fn bounded<R: Read>(&self, inner: R) -> Bounded<R> {
        Bounded {
            inner,
            packed: Rc::clone(&self.packed),
            unpacked: Rc::clone(&self.unpacked),
            limits: *self.limits,
        }
    }

    /// Reads unpacked content: an archive, or a file.
    fn unpacked_as(
        &mut self,
        name: &str,
        from: &mut dyn Read,
        depth: usize,
    ) -> Result<ControlFlow<()>, Error> {
        let mut begin = Vec::new();
        let (at, mark) = TAR;
        let mut first = (&mut *from).take((at + mark.len()) as u64);
        if let Err(error) = first.read_to_end(&mut begin) {
            return self.wrong(name, broken(&error));
        }
        let tar = begin.get(at..) == Some(mark);
        let mut from = Cursor::new(begin).chain(from);
        match (tar, depth < DEPTH) {
            (true, true) => self.archive(name, &mut from, depth),
            (true, false) => self.wrong(name, "an archive in an archive in an archive"),
            (false, _) => self.file(name, &mut from),
        }
    }

    fn file(&mut self, name: &str, from: &mut dyn Read) -> Result<ControlFlow<()>, Error> {
        let mut octets = Vec::new();
        match from.take(self.limits.file + 1).read_to_end(&mut octets) {
            Ok(length) if length as u64 > self.limits.file => {
                let what = format!("it has more than {} MiB", self.limits.file >> 20);
                self.wrong(name, what)
            }
            Ok(_) => (self.visit)(ArchiveItem::File {
                name,
                octets: &octets,
            }),
            Err(error) => self.wrong(name, broken(&error)),
        }
    }

    fn archive(
        &mut self,
        name: &str,
        from: &mut dyn Read,
        depth: usize,
    ) -> Result<ControlFlow<()>, Error> {
        let mut archive = Archive::new(from);
        let entries = match archive.entries() {
            // Long names are read here, as the library reads them however long they are.
            Ok(entries) => entries.raw(true),
            Err(error) => return self.wrong(name, broken(&error)),
        };
        let mut long = None;
        for entry in entries {
            let mut entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.wrong(name, broken(&error)),
            };
            self.files += 1;
            if self.files > FILES {
                return self.wrong(name, format!("it has more than {FILES} files"));
            }
            let kind = entry.header().entry_type();
            match kind {
                EntryType::GNULongName | EntryType::XHeader => {
                    let mut told = Vec::new();
                    let read = (&mut entry).take(NAME + 1).read_to_end(&mut told);
                    let named = match read {
                        Ok(length) if length as u64 <= NAME => long_name(kind, &told),
                        Ok(_) => Err("a name in it is too long".to_owned()),
                        Err(error) => Err(broken(&error)),
                    };
                    match named {
                        Ok(named) => long = named.or(long),
                        Err(what) => return self.wrong(name, what),
                    }
                    continue;
                }
                EntryType::XGlobalHeader | EntryType::GNULongLink | EntryType::Directory => {
                    continue;
                }
                _ => {}
            }
            let path = long
                .take()
                .unwrap_or_else(|| entry.path_bytes().into_owned());
            let path = String::from_utf8_lossy(&path).into_owned();
            let inner = format!("{name}/{path}");
            let way = if !plain(&path) {
                self.wrong(&inner, "its path leads out of the archive")?
            } else if !matches!(kind, EntryType::Regular | EntryType::Continuous) {
                self.wrong(&inner, "it is a link, or no file")?
            } else if entry.size() > self.limits.file && depth + 1 >= DEPTH {
                let what = format!("it has more than {} MiB", self.limits.file >> 20);
                self.wrong(&inner, what)?
            } else if !wanted(&path) {
                ControlFlow::Continue(())
            } else {
                let mut whole = Whole {
                    left: entry.size(),
                    inner: &mut entry,
                };
                self.open(&inner, &mut whole, depth + 1)?
            };
            if way.is_break() {
                return Ok(way);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn wrong(&mut self, name: &str, what: impl Into<String>) -> Result<ControlFlow<()>, Error> {
        self.wrong += 1;
        if self.wrong > WRONG {
            return Ok(ControlFlow::Continue(()));
        }
        let what = what.into();
        (self.visit)(ArchiveItem::Wrong { name, what })
    }
}

/// Returns the long name in a metadata entry.
fn long_name(kind: EntryType, told: &[u8]) -> Result<Option<Vec<u8>>, String> {
    if kind == EntryType::GNULongName {
        let end = told.iter().position(|o| *o == 0).unwrap_or(told.len());
        return Ok(Some(told[..end].to_owned()));
    }
    let mut path = None;
    let mut rest = told;
    while !rest.is_empty() {
        let record = pax_record(&mut rest);
        let (key, value) = record.ok_or_else(|| broken(&"malformed pax extension"))?;
        match key {
            b"path" => path = Some(value.to_owned()),
            // Attributes of files larger than 8 GiB.
            b"size" | b"GNU.sparse.size" | b"GNU.sparse.major" => {
                return Err("a file in it is too large, or has holes".to_owned());
            }
            _ => {}
        }
    }
    Ok(path)
}

/// Takes the first record of a pax header, `LENGTH KEY=VALUE` and a line feed; returns key and
/// value. A value may have line feeds: only the length ends a record.
fn pax_record<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let blank = rest.iter().position(|octet| *octet == b' ')?;
    let length = str::from_utf8(&rest[..blank]).ok()?.parse().ok()?;
    let (record, behind) = rest.split_at_checked(length)?;
    let record = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|octet| *octet == b'=')?;
    *rest = behind;
    Some((&record[..equals], &record[equals + 1..]))
}

fn broken(error: &dyn std::fmt::Display) -> String {
    format!("it breaks off, or is not an archive: {error}")
}

/// Returns true if a path stays within its folder.
fn plain(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.contains('\0')
        && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Returns true if a file may belong to a directory. `._x.json`, which macOS makes, does not.
pub(crate) fn wanted(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !name.starts_with('.') && ENDINGS.iter().any(|end| name.ends_with(end))
}

/// Reader that counts its bytes.
struct Counted<'r> {
    inner: &'r mut dyn Read,
    count: Rc<Cell<u64>>,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Reader of an archive's file, with an error if the archive ends within it.
struct Whole<'r> {
    inner: &'r mut dyn Read,
    left: u64,
}

impl Read for Whole<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        if read == 0 && self.left > 0 && !into.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}

/// Reader that fails beyond a sensible unpacked size.
struct Bounded<R> {
    inner: R,
    packed: Rc<Cell<u64>>,
    unpacked: Rc<Cell<u64>>,
    limits: Limits,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        let unpacked = self.unpacked.get() + read as u64;
        self.unpacked.set(unpacked);
        let most = self.packed.get().saturating_mul(self.limits.ratio);
        if unpacked > self.limits.archive || (unpacked > self.limits.loose && unpacked > most) {
            return Err(io::Error::other(
                "it unpacks to more than any directory has",
            ));
        }
        Ok(read)
    }
}
