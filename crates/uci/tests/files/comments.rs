//! Ownership of comments when sections move or go.

use weir_uci::Package;

fn without(text: &str, section: &str) -> String {
    let mut package = Package::read("t", text.as_bytes()).expect("a configuration");
    package.delete_section(section).expect("a section");
    String::from_utf8(package.text()).expect("text")
}

#[test]
fn what_is_indented_belongs_to_the_section_above() {
    let text = "config a 'x'\n\toption q 1\n\t# option r 2\nconfig b 'y'\n\toption v 1\n";
    assert_eq!(
        without(text, "y"),
        "config a 'x'\n\toption q 1\n\t# option r 2\n"
    );
    assert_eq!(without(text, "x"), "config b 'y'\n\toption v 1\n");
}

/// Found by fuzzing: a file that ends with `;` and blanks other than spaces, plus one more line.
#[test]
fn a_last_line_without_an_end_is_read_when_it_gets_one() {
    for tail in [
        "  \\\n    ",
        " \\\r\n  ",
        "\r\r;",
        "\x0b;",
        " ;",
        ";",
        "\t;  ",
        "\r; # x",
    ] {
        let text = format!("config a 'x'\nc b L{tail}");
        let mut package = Package::read("t", text.as_bytes()).unwrap();
        package.set("L", "p", b"q").unwrap();
        let again = Package::read("t", &package.text());
        let again = again.unwrap_or_else(|error| panic!("{tail:?}: {error}"));
        assert_eq!(again.value("L", "p"), Some(&b"q"[..]), "{tail:?}");
    }
}

#[test]
fn what_is_directly_above_goes_with_the_section() {
    let text = "config a 'x'\n\n# about y\nconfig b 'y'\n\n# about z\nconfig b 'z'\n";
    assert_eq!(
        without(text, "y"),
        "config a 'x'\n\n# about z\nconfig b 'z'\n"
    );
}

#[test]
fn what_a_file_begins_with_is_about_the_file() {
    let text = "# made by hand\nconfig a 'x'\n\nconfig b 'y'\n";
    assert_eq!(without(text, "x"), "# made by hand\nconfig b 'y'\n");
}

#[test]
fn what_stands_by_itself_stays() {
    let text = "config a 'x'\n\n# by itself\n\nconfig b 'y'\n\n# the end\n";
    assert_eq!(
        without(text, "x"),
        "# by itself\n\nconfig b 'y'\n\n# the end\n"
    );
    assert_eq!(
        without(text, "y"),
        "config a 'x'\n\n# by itself\n\n# the end\n"
    );
}

#[test]
fn new_lines_end_as_the_others_do() {
    let mut package =
        Package::read("t", b"config a 'x'\r\n\toption q '1'\r\n").expect("a configuration");
    package.set("x", "r", b"2").expect("a section");
    assert_eq!(
        package.text(),
        b"config a 'x'\r\n\toption q '1'\r\n\toption r '2'\r\n"
    );
}

#[test]
fn many_sections_can_be_taken_away() {
    let text: String = (0..2_500)
        .map(|n| format!("\nconfig rule\n\toption a '{n}'\n"))
        .collect();
    let mut package = Package::read("t", text.as_bytes()).expect("a configuration");
    for _ in 0..1_000 {
        let first = package.sections()[0].name.clone();
        package.delete_section(&first).expect("a section");
    }
    assert_eq!(package.sections().len(), 1_500);
}

/// Found by a property test.
#[test]
fn a_list_that_began_as_an_option_stays_a_list() {
    let left = |text: &str, number| {
        let mut package = Package::read("t", text.as_bytes()).expect("a configuration");
        package.delete_element("x", "q", number).expect("a list");
        String::from_utf8(package.text()).expect("text")
    };
    let text = "config a 'x'\n\toption q '1' # one\n\tlist q '2'\n";
    assert_eq!(left(text, 1), "config a 'x'\n\tlist q '1' # one\n");
    assert_eq!(left(text, 0), "config a 'x'\n\tlist q '2'\n");
    let text = "config a 'x'\n\to q '1'\n\tl q '2'\n\tl q '3'\n";
    assert_eq!(left(text, 2), "config a 'x'\n\to q '1'\n\tl q '2'\n");
    assert_eq!(left(&left(text, 1), 1), "config a 'x'\n\tlist q '1'\n");
}

#[test]
fn a_file_that_ends_in_a_continuation_takes_new_lines() {
    for (end, line) in [
        ("\\\n", "\n"),
        ("\\\r\n", "\r\n"),
        (" \\\r\n", "\r\n"),
        ("\\\n\\\n", "\n"),
    ] {
        for text in [
            format!("config t 'a'{line}\toption b 'c'{end}"),
            format!("config t 'a'{line}\toption b c{end}"),
            format!("config t 'a'{end}"),
            format!("config t{end}"),
            format!("config t 'a';option b c{end}"),
            format!("config t 'a'{line}\toption b 'c' # x\\{line}"),
            format!("config t 'a'{line}\toption b c\\\r"),
            "config t 'a' \"\"'' ".to_owned(),
            "config t\\\\\r\\\n".to_owned(),
            format!("config t 'a'{line}\toption b c\\\\\r"),
            "config t ; ''\\\n'' # x".to_owned(),
            "config t ; ''\\\n'' # x\n".to_owned(),
            format!("config t 'a'{line}\toption b 'c' # x\\\r"),
        ] {
            let read =
                || Package::read("p", text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text:?}"));
            let name = read().sections()[0].name.clone();
            let mut added = read();
            added.add("other").expect("a section");
            let mut set = read();
            set.set(&name, "d", b"e").expect("an option");
            let mut listed = read();
            listed.add_list(&name, "b", b"e").expect("a list");
            let mut moved = added.clone();
            moved.reorder(&name, 1).expect("a place");
            for package in [added, set, listed, moved] {
                let text = package.text();
                package
                    .check()
                    .unwrap_or_else(|e| panic!("{e}: {}", text.escape_ascii()));
            }
        }
    }
}

#[test]
fn a_section_without_a_name_that_is_opened_again_by_the_one_it_got_is_told() {
    let text = "config a\n\toption x '1'\nconfig t\n\toption y '2'\n";
    let mut package = Package::read("p", text.as_bytes()).expect("a file");
    let name = package.sections()[1].name.clone();
    let text = format!("{text}config t '{name}'\n\toption z '3'\n");
    package = Package::read("p", text.as_bytes()).expect("a file");
    assert_eq!(package.sections().len(), 2);
    package.check().expect("as it is read");
    package
        .delete_section(&package.sections()[0].name.clone())
        .expect("to go");
    let error = package
        .check()
        .expect_err("the name is another section's now");
    assert!(error.to_string().contains(&name), "{error}");
}
