//! Folders, archives, and their defects.

use std::io::{Read, Write};
use std::ops::ControlFlow;

use atlas::read::{ArchiveItem, Limits, Progress, Sink, import, walk};
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};
use testing::Directory;

use super::{Kept, NAME, freifunk, run, told};

const ONE: &[u8] = br#"{"a":{"name":"A","state":{"nodes":1},"mtime":"2019-10-09 23:00:00"}}"#;
const TWO: &[u8] = br#"{"a":{"name":"A","state":{"nodes":2},"mtime":"2019-10-09 22:00:00"}}"#;

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(octets).unwrap();
    packed.finish().unwrap()
}

fn xz(octets: &[u8]) -> Vec<u8> {
    let mut packed = liblzma::write::XzEncoder::new(Vec::new(), 1);
    packed.write_all(octets).unwrap();
    packed.finish().unwrap()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for (name, octets) in files {
        let mut header = Header::new_gnu();
        header.set_size(octets.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *octets).unwrap();
    }
    tar.into_inner().unwrap()
}

/// Returns an archive entry with an unmodified name, wherever it leads.
fn entry(kind: EntryType, name: &str, link: &str, octets: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_size(octets.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    let mut entry = header.as_bytes().to_vec();
    entry.extend_from_slice(octets);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

/// Returns the names of found files, and the errors.
fn found(octets: &[u8], limits: &Limits) -> Vec<String> {
    let folder = Directory::new();
    let path = folder.write("x", octets);
    let mut all = Vec::new();
    let way = walk(&path.to_string_lossy(), limits, &mut |found| {
        all.push(match found {
            ArchiveItem::File { name, octets } => format!("{name}: {}", octets.len()),
            ArchiveItem::Wrong { name, what } => format!("{name}: {what}"),
        });
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!(way.unwrap(), ControlFlow::Continue(()));
    all
}

#[test]
fn every_way_to_pack() {
    let folder = Directory::new();
    let hour = |hour: u32| format!("20191009-{hour:02}.00.00-ffSummarizedDir.json");
    let json =
        |nodes: u32| format!(r#"{{"a":{{"name":"A","state":{{"nodes":{nodes}}}}}}}"#).into_bytes();
    folder.write(&hour(0), &json(0));
    folder.write(&format!("in/{}.gz", hour(1)), &gzip(&json(1)));
    folder.write(&format!("in/{}.xz", hour(2)), &xz(&json(2)));
    folder.write(
        &format!("in/deep/{}.tar.gz", hour(3)),
        &gzip(&tar(&[(&hour(3), &json(3))])),
    );
    let nested = gzip(&tar(&[(&hour(4), &json(4))]));
    let long = format!("{}/{}", "folder".repeat(30), hour(5));
    let archive = tar(&[
        (&format!("h/{}.tar.gz", hour(4)), &nested),
        (&long, &json(5)),
        ("h/README.md", b"# no directory"),
        ("h/._x.json", b"\0\0"),
    ]);
    folder.write("many.tar.xz", &xz(&archive));
    folder.write("notes.txt", b"no directory");
    std::os::unix::fs::symlink("..", folder.path().join("in/loop")).unwrap();

    let mut kept = Kept::default();
    let done = run(folder.path(), &mut kept);
    assert_eq!((done.files, done.left_out), (6, 0), "{:?}", kept.snapshots);
    let mut nodes: Vec<i64> = kept
        .snapshots
        .iter()
        .map(|s| s.entries[0].nodes.unwrap())
        .collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [0, 1, 2, 3, 4, 5]);
    let names: Vec<&str> = kept.snapshots.iter().map(|s| s.file.as_str()).collect();
    assert!(
        names.contains(&format!("many.tar.xz/h/{0}.tar.gz/{0}", hour(4)).as_str()),
        "{names:?}"
    );
    let again = run(folder.path(), &mut kept);
    assert_eq!((again.files, again.known), (0, 6));
}

#[test]
fn the_same_content_of_another_day_is_another_snapshot() {
    let folder = Directory::new();
    folder.write(NAME, ONE);
    folder.write("20191017-00.00.00-ffSummarizedDir.json", ONE);
    folder.write("20191017-00.00.00-ffSummarizedDir.json.gz", &gzip(ONE));
    let mut kept = Kept::default();
    let done = run(folder.path(), &mut kept);
    assert_eq!((done.files, done.known), (2, 1));
    assert_eq!(kept.snapshots[1].hour - kept.snapshots[0].hour, 7 * 24 + 1);
}

#[test]
fn paths_outside_links_and_archives_too_deep() {
    let mut octets = Vec::new();
    for (kind, name, link) in [
        (EntryType::Regular, "../out.json", ""),
        (EntryType::Regular, "/etc/out.json", ""),
        (EntryType::Regular, "a/../../out.json", ""),
        (EntryType::Symlink, "link.json", "/etc/passwd"),
        (EntryType::Link, "hard.json", "/etc/passwd"),
        (EntryType::Fifo, "fifo.json", ""),
        (EntryType::GNUSparse, "sparse.json", ""),
        (EntryType::Directory, "folder", ""),
        (EntryType::Regular, "./fine.json", ""),
    ] {
        let content: &[u8] = if name.ends_with("fine.json") {
            ONE
        } else {
            b""
        };
        octets.extend(entry(kind, name, link, content));
    }
    let deep = gzip(&tar(&[(
        "b.tar.gz",
        &gzip(&tar(&[("c.tar", &tar(&[("d.json", ONE)]))])),
    )]));
    octets.extend(entry(EntryType::Regular, "a.tar.gz", "", &deep));
    octets.extend([0; 1024]);
    let length = ONE.len();
    assert_eq!(
        found(&octets, &Limits::default()),
        [
            "x/../out.json: its path leads out of the archive",
            "x//etc/out.json: its path leads out of the archive",
            "x/a/../../out.json: its path leads out of the archive",
            "x/link.json: it is a link, or no file",
            "x/hard.json: it is a link, or no file",
            "x/fifo.json: it is a link, or no file",
            "x/sparse.json: it is a link, or no file",
            &format!("x/./fine.json: {length}"),
            "x/a.tar.gz/b.tar.gz: an archive in an archive in an archive",
        ]
    );
}

#[test]
fn what_breaks_off_keeps_what_was_whole() {
    let archive = tar(&[("a.json", ONE), ("b.json", TWO)]);
    // In the second file's content; in its header.
    for (end, wrong) in [(512 + 512 + 512 + 20, 2), (512 + 512 + 100, 1)] {
        let found = found(&archive[..end], &Limits::default());
        assert_eq!(found[0], format!("x/a.json: {}", ONE.len()));
        assert_eq!(found.len(), 1 + wrong, "{found:?}");
        assert!(
            found[1..].iter().all(|f| f.contains("it breaks off")),
            "{found:?}"
        );
    }
    let packed = gzip(&archive);
    for packed in [
        &packed[..packed.len() / 2],
        &xz(&archive)[..100],
        &packed[..15],
    ] {
        let found = found(packed, &Limits::default());
        assert!(found.last().unwrap().contains("it breaks off"), "{found:?}");
    }
    assert_eq!(found(b"", &Limits::default()), ["x: 0"]);
}

#[test]
fn bombs() {
    let limits = Limits {
        file: 1 << 20,
        archive: 8 << 20,
        ratio: 100,
        loose: 4 << 20,
    };
    let zeros = vec![0; 3 << 20];
    let large = "it has more than 1 MiB";
    assert_eq!(found(&gzip(&zeros), &limits), [format!("x: {large}")]);
    assert_eq!(found(&xz(&zeros), &limits), [format!("x: {large}")]);
    // A file that is too large does not affect the others.
    let some = tar(&[("a.json", &zeros), ("b.json", ONE)]);
    let some = found(&gzip(&some), &limits);
    assert_eq!(
        some,
        [
            format!("x/a.json: {large}"),
            format!("x/b.json: {}", ONE.len())
        ]
    );
    // All of them together exceed the limit.
    let files: Vec<(&str, &[u8])> = (0..9).map(|_| ("a.json", &zeros[..1 << 20])).collect();
    let many = found(&gzip(&tar(&files)), &limits);
    let last = many.last().unwrap();
    assert!(
        many.len() <= 6 && last.contains("unpacks to more than"),
        "{many:?}"
    );
    let noise: Vec<u8> = (0..1_u32 << 20)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let files: Vec<(&str, &[u8])> = (0..9).map(|_| ("a.json", noise.as_slice())).collect();
    let many = found(&tar(&files), &limits);
    assert!(
        many.len() == 9 && many[8].contains("unpacks to more than"),
        "{many:?}"
    );

    // A thousand things that are wrong.
    let many: Vec<u8> = (0..1000)
        .flat_map(|_| entry(EntryType::Symlink, "a.json", "/", b""))
        .collect();
    let many = found(&many, &Limits::default());
    assert_eq!(many.len(), 101);
    assert_eq!(many[100], "x: and 900 more that is wrong with it");

    // A name of a gigabyte, and an extension that says so.
    for kind in [EntryType::GNULongName, EntryType::XHeader] {
        let mut archive = entry(kind, "name", "", &vec![b'a'; 100_000]);
        archive.extend(entry(EntryType::Regular, "a.json", "", ONE));
        let found = found(&archive, &limits);
        assert!(
            found.len() == 1 && found[0].contains("too long"),
            "{found:?}"
        );
    }
    // A value may have any byte, also one that ends lines.
    let mut archive = entry(
        EntryType::XHeader,
        "x",
        "",
        b"29 SCHILY.xattr.user.note=\nb\n15 path=b.json\n",
    );
    archive.extend(entry(EntryType::Regular, "a.json", "", ONE));
    let one = format!("x/b.json: {}", ONE.len());
    assert_eq!(found(&archive, &Limits::default()), [one]);
    for wrong in [
        &b"5 a=b\n"[..],
        b"7 a=b\n",
        b"1 a=b\n",
        b"6 abc\n",
        b"a=b\n",
        b"6 a=bc",
        b"99999999999999999999 a=b\n",
    ] {
        let archive = entry(EntryType::XHeader, "x", "", wrong);
        let found = found(&archive, &limits);
        assert!(found[0].contains("malformed pax extension"), "{found:?}");
    }
    let size = b"22 size=9999999999999\n";
    let archive = entry(EntryType::XHeader, "x", "", size);
    assert!(found(&archive, &limits)[0].contains("too large, or has holes"));
}

#[test]
fn an_import_ends_where_it_is_told_to_and_goes_on() {
    let folder = Directory::new();
    for hour in 0..20 {
        let json = format!(r#"{{"a":{{"name":"A","state":{{"nodes":{hour}}}}}}}"#);
        let name = format!("20191009-{hour:02}.00.00-ffSummarizedDir.json");
        folder.write(&name, json.as_bytes());
    }
    let places = [folder.path().to_string_lossy().into_owned()];
    let mut kept = Kept::default();
    let mut stop = |progress: &Progress| match progress.files {
        7 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let done = import(&places, &freifunk(), &mut kept, &mut stop).unwrap();
    assert_eq!((done.files, kept.commits.last()), (7, Some(&7)));
    let done = run(folder.path(), &mut kept);
    assert_eq!(
        (done.files, done.known, kept.commits.last()),
        (13, 7, Some(&20))
    );

    // Files before a missing place are kept, and the error names the place.
    let places = [places[0].clone(), "/nowhere/at/all".to_owned()];
    let mut other = Kept::default();
    let error = import(&places, &freifunk(), &mut other, &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(
        error
            .unwrap_err()
            .to_string()
            .starts_with("/nowhere/at/all: ")
    );
    // Errors do not reveal passwords.
    let secret = ["http://user:word@127.0.0.1:1/x.json?token=more".to_owned()];
    let error = import(&secret, &freifunk(), &mut Kept::default(), &mut |_| {
        ControlFlow::Continue(())
    });
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("http://127.0.0.1:1/x.json: "), "{error}");
    assert!(
        !error.contains("word") && !error.contains("more"),
        "{error}"
    );
    assert_eq!(other.commits, [20]);
    let unpackable = folder.write("x.json.gz", &gzip(ONE)[..20]);
    let mut kept = Kept::default();
    assert_eq!(run(&unpackable, &mut kept).left_out, 1);
    assert!(told(&kept.snapshots[0])[0].contains("it breaks off"));
    assert_eq!(run(&unpackable, &mut kept).known, 1);
    // Years in the future would stretch every chart, and so would 1969.
    let mut kept = Kept::default();
    for name in ["21991231-23.00.00", "19700101-00.00.00"] {
        let odd = folder.write(
            &format!("{name}-ffSummarizedDir.json"),
            br#"{"k":{"name":"K","state":{"nodes":1}}}"#,
        );
        assert_eq!(run(&odd, &mut kept).left_out, 1);
    }
    assert!(told(&kept.snapshots[0])[0].contains("its time is 2199"));
    assert!(kept.knows(&[0; 32]).is_ok_and(|known| !known));
    let mut rest = Vec::new();
    assert!(
        flate2::read::GzDecoder::new(&gzip(ONE)[..])
            .read_to_end(&mut rest)
            .is_ok()
    );
}
