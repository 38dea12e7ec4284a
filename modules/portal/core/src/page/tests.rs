use super::*;

#[test]
fn a_guest_is_asked_for_a_code_in_his_language() {
    let shown = PageView {
        languages: "fr-FR, de-AT;q=0.8, en;q=0.5",
        ..PageView::default()
    };
    let page = html(&shown);
    assert!(page.contains("lang=\"de\"") && page.contains("Verbinden"));
    assert!(page.len() < 30 * 1024);
    assert!(!page.contains("<script"));
}

#[test]
fn what_is_left_is_told() {
    for (left, told) in [
        (Some(59), "59 s"),
        (Some(3 * 3600 + 61), "3 h 1 min"),
        (Some(90_000), "1 d 1 h"),
        (None, "without limit"),
    ] {
        let shown = PageView {
            inside: Some(left),
            ..PageView::default()
        };
        assert!(html(&shown).contains(told), "{told}");
    }
}

#[test]
fn who_is_closed_out_is_told_until_when() {
    let shown = PageView {
        closed: true,
        inside: Some(None),
        trouble: Some(GuestProblem::Closed(Some(3660))),
        ..PageView::default()
    };
    let page = html(&shown);
    assert!(page.contains("Opens in 1 h 1 min.") && !page.contains("<form"));
}

#[test]
fn a_second_is_one() {
    for (languages, trouble, told) in [
        ("en", GuestProblem::Wait(1), "again in 1 second."),
        ("en", GuestProblem::Read(2), "2 seconds more."),
        ("de", GuestProblem::Wait(20), "in 20 Sekunden wieder."),
        ("de", GuestProblem::Read(1), "noch 1 Sekunde."),
    ] {
        let shown = PageView {
            trouble: Some(trouble),
            languages,
            ..PageView::default()
        };
        assert!(html(&shown).contains(told), "{told}");
    }
}

/// All visitors see the picture and the venue, at all hours.
#[test]
fn a_picture_and_the_place_are_shown() {
    for (closed, inside) in [(false, None), (false, Some(None)), (true, None)] {
        let shown = PageView {
            network: "Caf\u{e9} <1>",
            picture: Some("/picture?3"),
            venue: Some("https://example.org/?a=1&b=\"x\""),
            closed,
            inside,
            ..PageView::default()
        };
        let page = html(&shown);
        for part in [
            "<img src=\"/picture?3\" alt=\"Caf\u{e9} &lt;1&gt;\">",
            "<a href=\"https://example.org/?a=1&amp;b=&quot;x&quot;\">About this place</a>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}

#[test]
fn a_name_and_what_was_typed_are_text() {
    let shown = PageView {
        code: Some("\"><img src=x>"),
        network: "<img src=x onerror=alert(1)>\"'&",
        ..PageView::default()
    };
    assert!(!html(&shown).contains("<img"));
}
