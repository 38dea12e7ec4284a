use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn mptcp_may_be_there_and_off() {
    let on = mptcp(Ok("1\n".into()));
    assert!(on.present && on.hint.is_none() && on.detail.is_none());
    let off = mptcp(Ok("0\n".into()));
    assert!(!off.present);
    assert_eq!(off.hint.as_deref(), Some("sysctl net.mptcp.enabled=1"));
    let none = mptcp(Err(io::ErrorKind::NotFound.into()));
    assert!(!none.present && none.hint.is_some_and(|hint| hint.contains("CONFIG_MPTCP")));
}

const LINE: &str = "weir2-VJnoSsr2L_geQ8Fb8UKGV26kZI4mH6jmHoQ-FqijwS29RsU7N7oM6yTZu4JlH3LJTclKd1eFuuHp6wDqaVud31ihjec8LSJxVT4gsg@partner.example:9349";

/// Loads a file with this text, or returns the error.
fn load(file: &Path, text: &str) -> Result<Effective, String> {
    fs::write(file, text).expect("written");
    let source = runtime::config::Source {
        file: Some(file.to_owned()),
        ..runtime::config::Source::of(crate::config::SECTIONS.to_vec())
    };
    source.load().map_err(|error| format!("{error:?}"))
}

#[test]
fn a_secret_that_others_read_is_none() {
    let file = std::env::temp_dir().join(format!("weir-secret-{}.toml", std::process::id()));
    let text = format!("[multipath]\npartner = \"{LINE}\"\n");
    fs::write(&file, &text).expect("written");
    for (mode, is_one) in [(0o600, true), (0o640, false), (0o604, false), (0o711, true)] {
        fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("mode");
        let row = secret(load(&file, &text).expect("good").of());
        assert_eq!(row.present, is_one, "{mode:o}");
        let hint = (!is_one).then(|| format!("chmod 600 {}", file.display()));
        assert_eq!(row.hint, hint);
    }
    fs::remove_file(&file).expect("removed");
}

#[test]
fn what_is_strange_about_other_partners_is_told() {
    let file = std::env::temp_dir().join(format!("weir-others-{}.toml", std::process::id()));
    let doubts = |text: &str| {
        let effective = load(&file, &format!("[multipath]\n{text}")).expect("good");
        let multipath = effective.of::<Multipath>();
        let what = multipath.doubts().map(|(what, _)| what);
        (what, multipath.pairings().len())
    };
    let (what, many) = doubts(&format!("standby = [\"{LINE}\"]\n"));
    assert!(
        what.is_some_and(|what| what.contains("`standby` is set without `partner`")) && many == 0
    );
    let (what, many) = doubts(&format!("partner = \"{LINE}\"\nstandby = [\"{LINE}\"]\n"));
    assert!(what.is_some_and(|what| what.contains("from itself")) && many == 1);
    assert_eq!(doubts(&format!("partner = \"{LINE}\"\n")), (None, 1));
    let twice = format!("[multipath]\nstandby = [\"{LINE}\", \"{LINE}\"]\n");
    let told = load(&file, &twice).expect_err("twice");
    assert!(
        told.contains("twice") && !told.contains("VJnoSsr2"),
        "{told}"
    );
    fs::remove_file(&file).expect("removed");
}

#[test]
fn each_partner_and_the_own_key_are_told_of() {
    let candidate = |reached, problem: Option<&str>| answers::Candidate {
        partner: "a.example:9349".into(),
        in_use: false,
        reached,
        problem: problem.map(str::to_owned),
    };
    let ready = partner(&candidate(Some(true), None));
    assert!(ready.present && ready.detail.is_none() && ready.hint.is_none());
    let failed = partner(&candidate(Some(false), Some("refused")));
    assert!(!failed.present && failed.hint.is_some());
    assert_eq!(failed.detail.as_deref(), Some("refused"));
    let untried = partner(&candidate(None, None));
    assert!(untried.present && untried.detail.is_some());
    assert!(key(None).present);
    assert!(!key(Some("full".into())).present);
}

#[test]
fn what_is_not_given_is_told() {
    let forward = |granted| answers::Forward {
        ports: "tcp/8022".into(),
        to: "192.168.1.2:22".into(),
        granted,
    };
    let rows = forwards(&[Some(true), Some(false), None].map(forward));
    assert_eq!(
        rows.iter().map(|row| row.present).collect::<Vec<_>>(),
        [true, false, false]
    );
    assert_eq!(
        rows[1].hint.as_deref(),
        Some("at the partner: weir multipath forward ROUTER tcp/8022")
    );
    assert!(rows[0].hint.is_none() && rows[2].hint.is_none());
}

#[test]
fn what_nft_refuses_is_told_in_its_words() {
    let nonsense = Expression {
        rule: "meta nonsense 1 accept",
        hint: "correct it",
        ..EXPRESSIONS[0]
    };
    let runtime = runtime::event_loop().expect("an event loop");
    let feature = runtime.block_on(tried(&nonsense));
    assert!(!feature.present);
    assert_eq!(feature.hint.as_deref(), Some("correct it"));
    assert!(feature.detail.is_some_and(|detail| !detail.is_empty()));
}
