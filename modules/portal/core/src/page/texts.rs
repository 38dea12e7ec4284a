//! Texts of the page, in all available languages.

/// Available languages; the first is the default.
const LANGUAGES: [(&str, &Words); 2] = [("en", &ENGLISH), ("de", &GERMAN)];

/// Texts of the page in one language.
pub(super) struct Words {
    pub(super) welcome: &'static str,
    pub(super) code: &'static str,
    pub(super) hint: &'static str,
    pub(super) connect: &'static str,
    pub(super) inside: &'static str,
    pub(super) left: &'static str,
    pub(super) for_ever: &'static str,
    pub(super) leave: &'static str,
    pub(super) more: &'static str,
    pub(super) free: &'static str,
    pub(super) again: &'static str,
    pub(super) other: &'static str,
    pub(super) password: &'static str,
    pub(super) venue: &'static str,
    pub(super) account: &'static str,
    pub(super) name: &'static str,
    pub(super) log_in: &'static str,
}

const ENGLISH: Words = Words {
    welcome: "Welcome",
    code: "Code of your voucher",
    hint: "Eight letters and digits. Capitals, spaces and dashes do not matter.",
    connect: "Connect",
    inside: "You are connected.",
    left: "Time left:",
    for_ever: "without limit",
    leave: "Disconnect",
    more: "Add another voucher",
    free: "Continue without a voucher, for",
    again: "Continue with your voucher",
    other: "Or enter the code of another voucher",
    password: "Password",
    venue: "About this place",
    account: "With your account",
    name: "Name",
    log_in: "Log in",
};

const GERMAN: Words = Words {
    welcome: "Willkommen",
    code: "Code des Gutscheins",
    hint: "Acht Buchstaben und Ziffern. Großschreibung, Leerzeichen und Striche sind egal.",
    connect: "Verbinden",
    inside: "Sie sind verbunden.",
    left: "Verbleibende Zeit:",
    for_ever: "unbegrenzt",
    leave: "Trennen",
    more: "Weiteren Gutschein einlösen",
    free: "Ohne Gutschein weiter, für",
    again: "Mit Ihrem Gutschein weiter",
    other: "Oder geben Sie den Code eines anderen Gutscheins ein",
    password: "Passwort",
    venue: "Über diesen Ort",
    account: "Mit Ihrem Konto",
    name: "Name",
    log_in: "Anmelden",
};

/// Returns the first requested language that is available (RFC 9110 section 12.5.4; browsers list
/// the preferred one first).
pub(super) fn choose(languages: &str) -> (&'static str, &'static Words) {
    let wanted = languages.split(',').take(32);
    wanted
        .filter_map(|one| {
            let tag = one.split(';').next().unwrap_or_default().trim();
            let primary = tag.split('-').next().unwrap_or_default();
            LANGUAGES
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(primary))
        })
        .copied()
        .next()
        .unwrap_or(LANGUAGES[0])
}
