//! Page for guests: one page without scripts, in their language. Pure.

mod texts;

use std::fmt::Write;

use net::markup::escape_html;
use serde::{Deserialize, Serialize};

use crate::guests::Refusal;
use texts::choose;

/// Problem that the page reports to a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestProblem {
    /// The text is not a code.
    NoCode,
    /// The code is unknown.
    Unknown,
    /// The voucher is signed by a node that this node does not trust.
    Foreign,
    /// The voucher's time is over.
    Expired,
    /// The voucher was revoked.
    Revoked,
    /// The password is wrong.
    NotThePassword,
    /// The name or the password of the account is wrong.
    NotTheAccount,
    /// The allowance of the account is used up.
    Spent,
    /// The account server does not answer.
    Silent,
    /// Too many wrong codes: seconds to wait.
    Wait(u64),
    /// Free access is not available now: seconds to wait.
    Rest(u64),
    /// The portal is closed: seconds to wait, if the hours end.
    Closed(Option<u64>),
    /// The guest has to read the page first: remaining seconds.
    Read(u64),
    /// The router does not know the device.
    Stranger,
    /// Internal error.
    Broken,
    /// The form was sent by another site.
    Forged,
}

impl From<Refusal> for GuestProblem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::InvalidCode => Self::NoCode,
            Refusal::Unknown => Self::Unknown,
            Refusal::Expired => Self::Expired,
            Refusal::Revoked => Self::Revoked,
        }
    }
}

impl GuestProblem {
    fn text(self, german: bool) -> String {
        let (english, deutsch) = match self {
            Self::NoCode => (
                "Invalid code: a code has eight letters and digits, and never 0, O, 1 or I.",
                "Ungültiger Code: Ein Code hat acht Buchstaben und Ziffern, nie 0, O, 1 oder I.",
            ),
            Self::Unknown => (
                "No voucher has this code. Compare it with yours, letter by letter.",
                "Kein Gutschein hat diesen Code. Vergleichen Sie ihn Zeichen für Zeichen.",
            ),
            Self::Foreign => (
                "This voucher is not valid here.",
                "Dieser Gutschein gilt hier nicht.",
            ),
            Self::Expired => (
                "This voucher has expired.",
                "Dieser Gutschein ist abgelaufen.",
            ),
            Self::Revoked => (
                "This voucher was revoked. Ask at the place where you got it.",
                "Dieser Gutschein wurde widerrufen. Fragen Sie dort, wo Sie ihn bekommen haben.",
            ),
            Self::NotThePassword => ("Wrong password.", "Das Passwort ist falsch."),
            Self::NotTheAccount => (
                "Wrong name or password.",
                "Der Name oder das Passwort ist falsch.",
            ),
            Self::Spent => (
                "Your account has no time or data left.",
                "Die Zeit oder das Datenvolumen Ihres Kontos ist aufgebraucht.",
            ),
            Self::Silent => (
                "Accounts cannot be checked at the moment. Try again soon.",
                "Konten lassen sich gerade nicht prüfen. Versuchen Sie es gleich noch einmal.",
            ),
            Self::Wait(seconds) => {
                let seconds = counted(seconds, german);
                return match german {
                    false => format!("Too many wrong attempts. Try again in {seconds}."),
                    true => format!("Zu viele Fehlversuche. Versuchen Sie es in {seconds} wieder."),
                };
            }
            Self::Rest(seconds) => {
                let time = time(seconds);
                return match german {
                    false => format!("You have already used the free access. Try again in {time}."),
                    true => format!("Freier Zugang verbraucht. Wieder möglich in {time}."),
                };
            }
            Self::Closed(None) => ("Closed.", "Geschlossen."),
            Self::Closed(Some(seconds)) => {
                let time = time(seconds);
                return match german {
                    false => format!("Closed now. Opens in {time}."),
                    true => format!("Jetzt geschlossen. Wieder offen in {time}."),
                };
            }
            Self::Read(seconds) => {
                let seconds = counted(seconds, german);
                return match german {
                    false => format!("Please read this page: {seconds} more."),
                    true => format!("Bitte lesen Sie diese Seite: noch {seconds}."),
                };
            }
            Self::Stranger => (
                "The router cannot find your device. Try again in a moment.",
                "Der Router findet Ihr Gerät nicht. Versuchen Sie es gleich noch einmal.",
            ),
            Self::Broken => (
                "Something went wrong. Try again in a moment.",
                "Ein Fehler ist aufgetreten. Versuchen Sie es gleich noch einmal.",
            ),
            Self::Forged => (
                "The page was open for too long. Try again.",
                "Die Seite war zu lange offen. Versuchen Sie es noch einmal.",
            ),
        };
        match german {
            false => english.to_owned(),
            true => deutsch.to_owned(),
        }
    }
}

/// Returns seconds in words.
fn counted(seconds: u64, german: bool) -> String {
    match (seconds, german) {
        (1, false) => "1 second".to_owned(),
        (1, true) => "1 Sekunde".to_owned(),
        (_, false) => format!("{seconds} seconds"),
        (_, true) => format!("{seconds} Sekunden"),
    }
}

/// Contents of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageView<'a> {
    /// Name of the network.
    pub network: &'a str,
    /// Text of the community, as HTML.
    pub text: &'a str,
    /// Address of the community's picture, if there is one.
    pub picture: Option<&'a str>,
    /// Address of a page about the venue, if there is one.
    pub venue: Option<&'a str>,
    /// Token of the form, so that no other site can send the form.
    pub token: &'a str,
    /// Set if the visitor is admitted; the seconds left, unless the time has no end.
    pub inside: Option<Option<u64>>,
    /// Seconds of free access, if offered.
    pub free: Option<u64>,
    /// For that a password is needed.
    pub password: bool,
    /// Set if guests may log in with an account; the name prefilled in the form.
    pub account: Option<&'a str>,
    /// Signed voucher of this browser's previous log-in.
    pub again: Option<&'a str>,
    /// True in closed hours: the page has no form.
    pub closed: bool,
    /// Code prefilled in the form.
    pub code: Option<&'a str>,
    /// Problem to report.
    pub trouble: Option<GuestProblem>,
    /// Header `Accept-Language` of the request.
    pub languages: &'a str,
}

/// Returns the page, as HTML.
pub fn html(shown: &PageView<'_>) -> String {
    let (language, words) = choose(shown.languages);
    let german = language == "de";
    let network = escape_html(shown.network);
    let title = match network.is_empty() {
        true => words.welcome.to_owned(),
        false => network,
    };
    let mut text = format!(
        "<!doctype html>\n<html lang=\"{language}\">\n<head><meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{STYLE}</style></head>\n<body><main>\n"
    );
    if let Some(picture) = shown.picture {
        let source = escape_html(picture);
        // The picture shows the venue that the title names.
        let _ = writeln!(text, "<img src=\"{source}\" alt=\"{title}\">");
    }
    let _ = writeln!(text, "<h1>{title}</h1>");
    if let Some(trouble) = shown.trouble {
        let told = escape_html(&trouble.text(german));
        let _ = writeln!(
            text,
            "<p role=\"alert\" class=\"trouble\" id=\"trouble\">{told}</p>"
        );
    }
    let token = format!(
        "<input type=\"hidden\" name=\"token\" value=\"{}\">",
        escape_html(shown.token)
    );
    let mut form_title = None;
    if let Some(left) = shown.inside.filter(|_| !shown.closed) {
        let left = left.map_or_else(|| words.for_ever.to_owned(), time);
        let _ = writeln!(
            text,
            "<p role=\"status\" class=\"inside\">{}</p>\n<p>{} <strong>{left}</strong></p>\n<form \
             method=\"post\" action=\"/logout\">{token}<button class=\"quiet\">{}</button></form>",
            words.inside, words.left, words.leave
        );
        form_title = Some(words.more);
    }
    if let Some(title) = form_title {
        let _ = writeln!(text, "<h2>{title}</h2>");
    }
    let end = shown.venue.map(|venue| {
        let venue = escape_html(venue);
        format!("<p><a href=\"{venue}\">{}</a></p>", words.venue)
    });
    let end = end.unwrap_or_default() + "</main></body></html>\n";
    if shown.closed {
        return text + shown.text + &end;
    }
    let again = shown.again.filter(|_| shown.inside.is_none());
    if let Some(voucher) = again {
        let _ = writeln!(
            text,
            "<form method=\"post\" action=\"/login\">{token}<input type=\"hidden\" name=\"code\" \
             value=\"{}\"><button>{}</button></form>",
            escape_html(voucher),
            words.again
        );
    }
    let described = match shown.trouble {
        Some(_) => "hint trouble",
        None => "hint",
    };
    let typed = shown
        .code
        .map(|code| format!(" value=\"{}\"", escape_html(code)));
    let typed = typed.unwrap_or_default();
    let _ = writeln!(
        text,
        "<form method=\"post\" action=\"/login\">{token}<label for=\"code\">{}</label>\n<input \
         id=\"code\" name=\"code\" required maxlength=\"640\" autocomplete=\"off\" \
         autocapitalize=\"characters\" spellcheck=\"false\" aria-describedby=\"{described}\"{typed}>\n<p \
         id=\"hint\" class=\"hint\">{}</p>\n<button>{}</button></form>",
        again.map_or(words.code, |_| words.other),
        words.hint,
        words.connect
    );
    if let Some(name) = shown.account {
        let name = escape_html(name);
        let _ = writeln!(
            text,
            "<h2>{}</h2>\n<form method=\"post\" action=\"/account\">{token}<label for=\"name\">{}</label>\n\
             <input id=\"name\" name=\"name\" required maxlength=\"253\" autocomplete=\"username\" \
             autocapitalize=\"none\" spellcheck=\"false\" value=\"{name}\">\n<label \
             for=\"secret\">{}</label>\n<input id=\"secret\" name=\"password\" type=\"password\" required \
             maxlength=\"128\" autocomplete=\"current-password\">\n<button>{}</button></form>",
            words.account, words.name, words.password, words.log_in
        );
    }
    // Behind the code, which most guests use; before texts that guests have to read first.
    if shown.inside.is_none() {
        text.push_str(shown.text);
    }
    if let (Some(seconds), None) = (shown.free, shown.inside) {
        let password = match shown.password {
            false => String::new(),
            true => format!(
                "<label for=\"password\">{}</label>\n<input id=\"password\" name=\"password\" required \
                 maxlength=\"200\" autocomplete=\"off\" autocapitalize=\"none\" spellcheck=\"false\">\n",
                words.password
            ),
        };
        let _ = writeln!(
            text,
            "<form method=\"post\" action=\"/free\">{token}{password}<button class=\"quiet\">{} \
             {}</button></form>",
            words.free,
            time(seconds)
        );
    }
    text + &end
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--ground:#f6f7f9;--sheet:#fff;--edge:#6b7380;--key:#0b57a4;\
--on:#fff;--bad:#a3161f;--good:#11652b}\
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--ground:#14171b;--sheet:#1d2126;--edge:#8a93a0;\
--key:#8ab8f0;--on:#10151b;--bad:#ff9a9a;--good:#7fd79a}}\
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);\
font:1.05rem/1.5 system-ui,sans-serif}\
main{max-width:26rem;margin:0 auto;padding:1.5rem 1rem}h1{font-size:1.5rem;line-height:1.2;\
overflow-wrap:anywhere}h2{font-size:1.1rem;margin:2rem 0 .5rem}\
form{margin:1rem 0}label{display:block;font-weight:600;margin-top:.75rem}\
input[name]{width:100%;font:1.4rem/1.2 ui-monospace,monospace;letter-spacing:.08em;\
padding:.6rem;border:2px solid var(--edge);border-radius:.4rem;\
background:var(--sheet);color:var(--ink)}\
input[name=code]{text-transform:uppercase}input[name=password]{margin-bottom:1rem}\
button{width:100%;font:inherit;font-weight:600;min-height:3rem;border:2px solid var(--key);\
border-radius:.4rem;background:var(--key);color:var(--on)}\
ul,ol{padding-left:1.4rem}a{color:var(--key)}\
p,li,pre{overflow-wrap:anywhere}pre{white-space:pre-wrap}\
img{display:block;max-width:100%;max-height:12rem;margin:0 auto 1rem;border-radius:.4rem}\
button.quiet{background:transparent;color:var(--key)}\
:focus-visible{outline:3px solid var(--key);outline-offset:2px}\
.hint{font-size:.9rem;margin:.4rem 0 1rem}.trouble{color:var(--bad);font-weight:600}\
.inside{color:var(--good);font-weight:600}";

/// Formats a time in hours and minutes; in the last minute in seconds.
fn time(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, 0) => format!("{hours} h"),
        (0, ..) => format!("{hours} h {minutes} min"),
        (_, 0, _) => format!("{days} d"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests;
