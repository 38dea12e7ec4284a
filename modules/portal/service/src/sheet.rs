//! A sheet of vouchers, to be printed and cut: HTML.

use std::fmt::Write;

use answers::PortalVoucher;
use net::markup::escape_html;

use runtime::output::{qr, units};

/// Returns the URL in a QR code: any host name works, as the portal answers for all names.
pub fn link(code: &str) -> String {
    format!("http://portal.weir/?code={code}")
}

/// Returns the content of a QR code by which a telephone joins an open Wi-Fi.
fn join(wifi: &str) -> String {
    let mut name = String::new();
    for character in wifi.chars() {
        if matches!(character, '\\' | ';' | ',' | ':' | '"') {
            name.push('\\');
        }
        name.push(character);
    }
    format!("WIFI:T:nopass;S:{name};;")
}

/// Ten on a page, each of 95 by 55 mm, in black on white.
const STYLE: &str = "\
@page{size:A4;margin:10mm}*{box-sizing:border-box}\
body{margin:0;background:#fff;color:#000;font:9pt/1.3 system-ui,sans-serif}\
main{display:grid;grid-template-columns:repeat(2,95mm);grid-auto-rows:55mm;width:190mm;\
margin:0 auto}\
article{display:grid;grid-template-columns:1fr auto;gap:3mm;padding:3.5mm;overflow:hidden;\
border:.2mm dashed #888;break-inside:avoid}\
h2{margin:0;font-size:12pt;overflow-wrap:anywhere}p{margin:.8mm 0}\
.code{font:700 16pt/1.2 ui-monospace,monospace;white-space:nowrap}\
.name,.how{overflow-wrap:anywhere}.how{font-size:8pt}\
aside{display:grid;align-content:center;gap:1mm}\
svg{display:block;width:30mm;height:30mm}.two svg{width:22mm;height:22mm}";

/// The words of a sheet in a language.
struct Words {
    /// Language tag.
    language: &'static str,
    for_ever: &'static str,
    online: &'static str,
    devices: &'static str,
    /// Instruction to join the Wi-Fi, followed by its name; or without a name.
    join: &'static str,
    join_any: &'static str,
    /// Instruction to log in.
    log_in: &'static str,
}

const WORDS: [Words; 7] = [
    Words {
        language: "en",
        for_ever: "for ever",
        online: "on-line",
        devices: "devices",
        join: "1. Join the Wi-Fi (upper QR code):",
        join_any: "1. Join our Wi-Fi.",
        log_in: "2. Open any web page and type the code, or scan the QR code.",
    },
    Words {
        language: "de",
        for_ever: "unbegrenzt",
        online: "online",
        devices: "Geräte",
        join: "1. Mit dem WLAN verbinden (oberer QR-Code):",
        join_any: "1. Mit unserem WLAN verbinden.",
        log_in: "2. Eine Webseite öffnen und den Code eingeben oder den QR-Code scannen.",
    },
    Words {
        language: "es",
        for_ever: "sin límite",
        online: "en línea",
        devices: "dispositivos",
        join: "1. Conéctese al wifi (código QR de arriba):",
        join_any: "1. Conéctese a nuestro wifi.",
        log_in: "2. Abra una página web y escriba el código, o escanee el código QR.",
    },
    Words {
        language: "fr",
        for_ever: "sans limite",
        online: "en ligne",
        devices: "appareils",
        join: "1. Rejoignez le Wi-Fi (code QR du haut) :",
        join_any: "1. Rejoignez notre Wi-Fi.",
        log_in: "2. Ouvrez une page web et saisissez le code, ou scannez le code QR.",
    },
    Words {
        language: "it",
        for_ever: "senza limite",
        online: "in linea",
        devices: "dispositivi",
        join: "1. Si colleghi al Wi-Fi (codice QR in alto):",
        join_any: "1. Si colleghi al nostro Wi-Fi.",
        log_in: "2. Apra una pagina web e scriva il codice, o scansioni il codice QR.",
    },
    Words {
        language: "pt",
        for_ever: "sem limite",
        online: "em linha",
        devices: "dispositivos",
        join: "1. Ligue-se ao Wi-Fi (código QR de cima):",
        join_any: "1. Ligue-se ao nosso Wi-Fi.",
        log_in: "2. Abra uma página web e escreva o código, ou leia o código QR.",
    },
    Words {
        language: "ar",
        for_ever: "بلا حد",
        online: "متصل",
        devices: "أجهزة",
        join: "1. اتصل بشبكة Wi-Fi (الرمز العلوي):",
        join_any: "1. اتصل بشبكة Wi-Fi الخاصة بنا.",
        log_in: "2. افتح أي صفحة ويب واكتب الرمز، أو امسح رمز QR.",
    },
];

/// Builds the sheet: `wifi` is the name of the guests' Wi-Fi, if configured; English is used for a
/// language without words here.
pub fn html(title: &str, wifi: &str, language: &str, vouchers: &[PortalVoucher]) -> String {
    let words = WORDS.iter().find(|words| words.language == language);
    let words = words.unwrap_or(&WORDS[0]);
    let heading = escape_html(title);
    let (lang, direction) = match words.language {
        "ar" => ("ar", "rtl"),
        other => (other, "ltr"),
    };
    let mut text = format!(
        "<!doctype html>\n<html lang=\"{lang}\" dir=\"{direction}\"><head><meta \
         charset=\"utf-8\"><title>Vouchers {heading}</title>\n<style>{STYLE}</style></head>\n\
         <body><main>\n"
    );
    let (first, wifi_code, both) = match wifi.is_empty() {
        true => (words.join_any.to_owned(), String::new(), ""),
        false => {
            let name = format!("{} <b><bdi>{}</bdi></b>", words.join, escape_html(wifi));
            let code = qr::svg(&join(wifi)).unwrap_or_default();
            (name, code, " class=\"two\"")
        }
    };
    for voucher in vouchers {
        // A signed voucher is valid at nodes without a record of it.
        let code = voucher.signed.as_ref().unwrap_or(&voucher.code);
        let picture = qr::svg(&link(code)).unwrap_or_default();
        let time = voucher.duration.map(units::duration);
        let mut good = time.unwrap_or_else(|| words.for_ever.to_owned());
        if voucher.online {
            let _ = write!(good, " {}", words.online);
        }
        if let Some(bytes) = voucher.bytes {
            let _ = write!(good, ", {}", units::bytes(bytes));
        }
        if let Some(rate) = voucher.rate {
            let _ = write!(good, ", {}", units::rate(rate));
        }
        if voucher.devices > 1 {
            let _ = write!(good, ", {} {}", voucher.devices, words.devices);
        }
        let _ = writeln!(
            text,
            "<article><div><h2>{heading}</h2><p class=\"code\" dir=\"ltr\">{}</p><p>{good}</p>\
             <p class=\"how\">{first}</p><p class=\"how\">{}</p><p class=\"name\">{}</p></div>\
             <aside{both}>{wifi_code}{picture}</aside></article>",
            escape_html(&voucher.code),
            words.log_in,
            escape_html(&voucher.name),
        );
    }
    text + "</main></body></html>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_says_which_network_and_how() {
        let voucher: PortalVoucher = serde_json::from_value(serde_json::json!({
            "id": "a", "code": "ABCD-EFGH", "name": "<b>", "state": "available", "duration": 7200,
            "devices": 2, "created": 0, "users": [],
        }))
        .unwrap_or_else(|error| panic!("a voucher: {error}"));
        let vouchers = [voucher];
        let with = html("Café", "Guests; \"here\"", "de", &vouchers);
        assert!(with.contains("lang=\"de\"") && with.contains("Mit dem WLAN verbinden"));
        assert!(
            with.contains("Guests; &quot;here&quot;") && with.contains("2 Geräte"),
            "{with}"
        );
        assert_eq!(with.matches("<svg").count(), 2);
        assert!(with.contains("2. Eine Webseite öffnen"));
        assert!(with.contains("&lt;b&gt;"));
        let without = html("Café", "", "xx", &vouchers);
        assert!(without.contains("1. Join our Wi-Fi.") && without.contains("lang=\"en\""));
        assert_eq!(without.matches("<svg").count(), 1);
        assert_eq!(join("a;b\\"), "WIFI:T:nopass;S:a\\;b\\\\;;");
    }
}
