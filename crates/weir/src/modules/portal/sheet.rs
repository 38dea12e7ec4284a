//! A sheet of vouchers, to be printed and cut: HTML.

use std::fmt::Write;

use answers::PortalVoucher;
use portal::page::escaped;

use crate::output::{qr, units};

/// Where a QR code leads to that holds a code: any name does, as the portal answers for all of them.
pub fn link(code: &str) -> String {
    format!("http://portal.weir/?code={code}")
}

/// Ten on a page, each of 95 by 55 mm, in black on white.
const STYLE: &str = "\
@page{size:A4;margin:10mm}*{box-sizing:border-box}\
body{margin:0;background:#fff;color:#000;font:10pt/1.35 system-ui,sans-serif}\
main{display:grid;grid-template-columns:repeat(2,95mm);grid-auto-rows:55mm;width:190mm;\
margin:0 auto}\
article{display:grid;grid-template-columns:1fr 32mm;gap:3mm;padding:4mm;overflow:hidden;\
border:.2mm dashed #888;break-inside:avoid}\
h2{margin:0;font-size:12pt;overflow-wrap:anywhere}p{margin:1mm 0}\
.code{font:700 17pt/1.2 ui-monospace,monospace;white-space:nowrap}\
.name{overflow-wrap:anywhere}svg{width:32mm;height:32mm;align-self:center}";

/// The sheet.
pub fn html(title: &str, vouchers: &[PortalVoucher]) -> String {
    let heading = escaped(title);
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Vouchers \
         {heading}</title>\n<style>{STYLE}</style></head>\n<body><main>\n"
    );
    for voucher in vouchers {
        // One that is signed holds where nobody has heard of it.
        let code = voucher.signed.as_ref().unwrap_or(&voucher.code);
        let picture = qr::svg(&link(code)).unwrap_or_default();
        let time = voucher.duration.map(units::duration);
        let mut good = time.unwrap_or_else(|| "for ever".to_owned());
        if voucher.online {
            good.push_str(" on-line");
        }
        if let Some(bytes) = voucher.bytes {
            let _ = write!(good, ", {}", units::bytes(bytes));
        }
        if let Some(rate) = voucher.rate {
            let _ = write!(good, ", {}", units::rate(rate));
        }
        if voucher.devices > 1 {
            let _ = write!(good, ", {} devices", voucher.devices);
        }
        let _ = writeln!(
            text,
            "<article><div><h2>{heading}</h2><p class=\"code\">{}</p><p>{good}</p><p \
             class=\"name\">{}</p></div>{picture}</article>",
            escaped(&voucher.code),
            escaped(&voucher.name),
        );
    }
    text + "</main></body></html>\n"
}
