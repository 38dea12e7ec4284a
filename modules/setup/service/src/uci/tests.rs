use std::io::Cursor;

use super::answer;

/// Returns standard output and error, and the exit code.
fn said(words: &[&str], input: &str, teach: bool) -> (String, String, u8) {
    let words = words.iter().map(|word| word.as_bytes().to_vec());
    let words: Vec<Vec<u8>> = words.collect();
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let mut input = Cursor::new(input.as_bytes());
    let code = answer(&words, &mut input, &mut out, &mut errors, teach).expect("it is written");
    let text = |octets| String::from_utf8(octets).expect("text");
    (text(out), text(errors), code)
}

#[test]
fn a_person_is_told_more_than_a_program() {
    let words = ["-c", "/nowhere", "get", "network.lan.proto"];
    let (_, errors, code) = said(&words, "", false);
    assert_eq!((&*errors, code), ("uci: Entry not found\n", 1));
    let (_, errors, _) = said(&words, "", true);
    assert_eq!(
        errors,
        "uci: Entry not found\n  there is no file /nowhere/network\n"
    );
    let (_, errors, _) = said(&["-q", "-c", "/nowhere", "get", "a.b.c"], "", true);
    assert_eq!(errors, "");
}

#[test]
fn options_are_read_as_getopt_reads_them() {
    let together = ["-qc/nowhere", "-d", "-", "--", "get", "network.lan.proto"];
    assert_eq!(said(&together, "", true), (String::new(), String::new(), 1));
    let (_, errors, code) = said(&["-c"], "", false);
    assert!(errors.starts_with("uci: option requires an argument: c\nUsage: uci "));
    assert_eq!(code, 1);
    let (out, errors, code) = said(&["-Z", "show"], "", false);
    assert!(
        errors.starts_with("uci: unrecognized option: Z\n"),
        "{errors}"
    );
    assert_eq!((&*out, code), ("", 1));
    let (_, errors, code) = said(&[], "", false);
    assert!(errors.starts_with("Usage: uci ") && code == 0);
    let (_, errors, code) = said(&["-f", "/nowhere", "batch"], "", false);
    assert!(errors.starts_with("uci: /nowhere: ") && code == 1);
}

#[test]
fn what_would_leave_the_folder_is_no_package() {
    for name in ["../passwd", "a/b", "..", "", "a b"] {
        let (_, errors, code) = said(&["add", name, "kind"], "", false);
        assert_eq!((&*errors, code), ("uci: Invalid argument\n", 2), "{name}");
    }
    let input = "package ../../passwd\nconfig a\n";
    let (_, errors, code) = said(&["-c", "/nowhere", "import"], input, false);
    assert!(
        errors.contains("invalid character in name field"),
        "{errors}"
    );
    assert_eq!(code, 1);
}

#[test]
fn input_that_cannot_be_read_is_said_to_be_that() {
    let (_, errors, code) = said(&["-f", "/", "batch"], "", true);
    assert!(errors.starts_with("uci: I/O error\n  /: "), "{errors}");
    assert_eq!(code, 1);
}
