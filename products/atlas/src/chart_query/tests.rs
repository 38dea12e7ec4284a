use proptest::prelude::*;

use super::*;

fn read(query: &str) -> ChartQuery {
    ChartQuery::read(query).unwrap_or_else(|error| panic!("{query}: {error}"))
}

fn error(query: &str) -> String {
    match ChartQuery::read(query) {
        Err(Error::Asked(error)) => error,
        other => panic!("{query}: {other:?}"),
    }
}

#[test]
fn nothing_is_the_default() {
    for query in ["", "&&", "from=&to=&n=&only=&by=&theme=&key=+"] {
        assert_eq!(read(query), ChartQuery::default(), "{query}");
    }
    assert_eq!(ChartQuery::default().query(), "");
}

#[test]
fn every_parameter_is_read_and_written() {
    let query = "from=2019-01&to=2019-12&by=day&at=2019-10-17T22&n=7&key=gr%C3%A4fen&group=meta\
                 &share=1&only=a%2Cb&lang=de&theme=dark&width=400&height=300&notes=0&fit=1";
    let asked = read(query);
    assert_eq!(asked.query(), query);
    assert_eq!(asked.by, Some(Unit::Day));
    assert_eq!(asked.from, Span::read("2019-01"));
    assert_eq!(asked.to, Span::read("2019-12"));
    assert_eq!(asked.at, Span::read("2019-10-17T22"));
    assert_eq!((asked.n, asked.key.as_deref()), (Some(7), Some("gräfen")));
    assert!(asked.group && asked.share);
    assert_eq!(asked.only, ["a", "b"]);
    assert_eq!(asked.language, Language::German);
    let look = PictureStyle {
        width: 400,
        height: 300,
        theme: Theme::Dark,
        notes: false,
        fit: true,
    };
    assert_eq!(asked.look, look);
}

#[test]
fn what_means_the_same_is_written_the_same() {
    for same in [
        "to=2019&from=2019",
        "from=2019-01-01&to=2019-12-31T23&theme=auto&lang=en&width=960&height=480&share=0",
        "from=2019-01-01T00:00:00Z&to=2019-12-31",
    ] {
        assert_eq!(read(same).query(), "from=2019-01&to=2019-12", "{same}");
    }
    assert_eq!(read("only=b&only=a,b").query(), "only=a%2Cb");
    assert_eq!(read("only=b,a,b"), read("only=a,b"));
    // The whole span of `at` counts.
    assert_eq!(read("at=2019").query(), "at=2019");
    assert_ne!(read("at=2019"), read("at=2019-01"));
}

#[test]
fn keys_may_have_commas_and_percent_signs() {
    let asked = ChartQuery {
        only: ["a,b", "c%2Cd", "50 %", "é&=+"].map(str::to_owned).to_vec(),
        ..ChartQuery::default()
    };
    let mut read = read(&asked.query());
    read.only
        .sort_by_key(|key| asked.only.iter().position(|one| one == key));
    assert_eq!(read, asked);
    // In the encoding of browsers.
    assert_eq!(
        super::ChartQuery::read("only=a%2Cb").expect("two").only,
        ["a", "b"]
    );
    assert_eq!(
        super::ChartQuery::read("only=a%252Cb").expect("one").only,
        ["a,b"]
    );
}

#[test]
fn slips_are_told() {
    for (query, words) in [
        ("form=2019", "did you mean `from`?"),
        ("From=2019", "did you mean `from`?"),
        ("colour=1", "(parameters: from, to,"),
        ("n=1&n=2", "`n` occurs twice"),
        ("from=2019-13", "2019-10-17T22"),
        ("by=week", "hour or day or month"),
        ("by=mont", "did you mean `month`?"),
        ("n=0", "from 1 to 100"),
        ("n=101", "from 1 to 100"),
        ("n=+5", "from 1 to 100"),
        ("n=-5", "from 1 to 100"),
        ("n=99999999999999999999999", "from 1 to 100"),
        ("width=239", "from 240 to 2400"),
        ("height=1601", "from 160 to 1600"),
        ("theme=drak", "did you mean `dark`?"),
        ("lang=fr", "en or de"),
        ("group=metas", "did you mean `meta`?"),
        ("share=2", "1 or 0"),
        ("key=a%00b", "`key`"),
        ("a=%zz", "percent-encoded"),
    ] {
        // A sign of plus is a space.
        let query = query.replace("=+", "=%2B");
        let error = error(&query);
        assert!(error.contains(words), "{query}: {error}");
    }
}

#[test]
fn lengths_are_bounded() {
    assert!(error(&format!("key={}", "x".repeat(9000))).contains("8192"));
    assert!(error(&format!("key={}", "x".repeat(201))).contains("200 letters"));
    let many = (0..101).map(|n| n.to_string()).collect::<Vec<_>>();
    assert!(error(&format!("only={}", many.join(","))).contains("101 keys"));
    assert!(error(&format!("x{}=1", "y".repeat(8000))).len() < 300);
}

proptest! {
    #[test]
    fn what_is_written_is_read_the_same(
        from in time(), to in time(), at in time(),
        n in proptest::option::of(NUMBERS), key in "\\PC{0,20}",
        only in proptest::collection::vec("\\PC{1,8}", 0..5),
        flags in any::<[bool; 7]>(), width in WIDTHS, height in HEIGHTS,
    ) {
        let [group, share, german, dark, day, notes, fit] = flags;
        let trimmed = Some(key.trim().to_owned()).filter(|key| !key.is_empty());
        let mut only = only.iter().map(|key| key.trim().to_owned()).collect::<Vec<_>>();
        only.retain(|key| !key.is_empty());
        only.sort();
        only.dedup();
        let asked = ChartQuery {
            from: from.map(Span::as_from),
            to: to.map(Span::as_to),
            at, n, key: trimmed, group, share, only,
            by: day.then_some(Unit::Day),
            language: if german { Language::German } else { Language::English },
            look: PictureStyle {
                width, height, theme: if dark { Theme::Dark } else { Theme::Auto }, notes, fit,
            },
        };
        let query = asked.query();
        prop_assert!(query.is_ascii());
        prop_assert_eq!(read(&query), asked, "{}", query);
    }

    #[test]
    fn any_text_is_read_or_told(query in "([a-z]{1,6}=?[-0-9a-zT%+,:.]{0,9}&?|.*){0,6}") {
        if let Ok(asked) = ChartQuery::read(&query) {
            prop_assert_eq!(read(&asked.query()), asked);
        }
    }
}

fn time() -> impl Strategy<Value = Option<Span>> {
    let hours = 0..(2199 - 1970) * 8766_i64;
    let unit = prop_oneof![Just(Unit::Hour), Just(Unit::Day), Just(Unit::Month)];
    proptest::option::of((unit, hours).prop_map(|(unit, hour)| Span::of(unit, unit.number(hour))))
}
