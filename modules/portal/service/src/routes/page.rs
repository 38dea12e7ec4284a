//! Routes for the text of the guests' page, sheets of vouchers, and statistics.

use answers::{NewPicture, NewText, PortalVoucher, Preview, PreviewNumber};
use api::query::{Pairs, encode, unknown};
use api::server::Answer;
use api::{Asked, Later, Method, Nothing, Problem, Query, Route, Who};
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};

use crate::access::Access;
use crate::background::aside;
use crate::keeper::{MOST, no_voucher};
use crate::sheet;
use crate::welcome::Welcome;

/// Content policy of a document to print: only its own styles.
const SHEET: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action \
    'none'; frame-ancestors 'none'";

/// Content policy of a preview within the administrator's page, with a picture.
const PREVIEW: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri \
    'none'; form-action 'none'; frame-ancestors 'self'";

/// Bytes of a text with its title, as JSON has them.
const TEXT: usize = 64 * 1024;
/// Bytes of a picture at most, as text.
const PICTURE: usize = 192 * 1024;

/// Vouchers of a sheet.
struct Wanted {
    /// Ids of the vouchers; none: all unused ones.
    vouchers: Vec<String>,
    /// Language of its words.
    language: String,
}

impl Query for Wanted {
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        let mut wanted = Self {
            vouchers: Vec::new(),
            language: String::new(),
        };
        for (name, value) in pairs {
            match name.as_str() {
                "vouchers" => {
                    let ids = value.split(',').map(str::to_owned);
                    wanted.vouchers.extend(ids);
                }
                "language" => wanted.language.clone_from(value),
                _ => {
                    let has = "the parameters are vouchers, ids with commas between them, and \
                        language";
                    return Err(unknown("/v1/portal/sheet", name, has));
                }
            }
        }
        Ok(wanted)
    }

    fn to_query(&self) -> String {
        let all = self.vouchers.join(",");
        let language = (!self.language.is_empty()).then(|| self.language.clone());
        encode([
            ("vouchers", (!all.is_empty()).then_some(all)),
            ("language", language),
        ])
    }
}

/// Version of the picture: there is one, and the number is for browsers.
struct Version;

impl Query for Version {
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        match pairs.iter().find(|(name, _)| name != "version") {
            None => Ok(Self),
            Some((name, _)) => Err(unknown(
                "/v1/portal/page/picture",
                name,
                "the parameter is version",
            )),
        }
    }

    fn to_query(&self) -> String {
        String::new()
    }
}

/// Returns all routes.
pub fn all(access: &Access) -> Vec<Route> {
    let me = || access.clone();
    let (shown, edited, reset, framed, unframed) = (me(), me(), me(), me(), me());
    let (picture, drawn, preview, figures, sheet) = (me(), me(), me(), me(), me());
    vec![
        Route::get("/v1/portal/page", Who::User, move |()| {
            Ok(shown.welcome()?.page())
        }),
        Route::later(
            Method::POST,
            "/v1/portal/page/text",
            Who::User,
            move |asked: Asked<(), NewText>| {
                let welcome = edited.welcome();
                Box::pin(async move { welcome?.edit(asked.body).await })
            },
        )
        .with_body(TEXT),
        Route::later(
            Method::POST,
            "/v1/portal/page/text/reset",
            Who::User,
            move |_: Asked<(), Nothing>| {
                let welcome = reset.welcome();
                Box::pin(async move { welcome?.reset().await })
            },
        ),
        Route::later(
            Method::POST,
            "/v1/portal/page/picture",
            Who::User,
            move |asked: Asked<(), NewPicture>| {
                let welcome = framed.welcome();
                Box::pin(async move { welcome?.frame(asked.body.picture).await })
            },
        )
        .with_body(PICTURE),
        Route::later(
            Method::POST,
            "/v1/portal/page/picture/remove",
            Who::User,
            move |_: Asked<(), Nothing>| {
                let welcome = unframed.welcome();
                Box::pin(async move { welcome?.unframe().await })
            },
        ),
        Route::raw(
            Method::GET,
            "/v1/portal/page/picture",
            Who::User,
            move |_: Asked<Version, Nothing>| self::picture(&*picture.welcome()?),
        ),
        Route::new(
            Method::POST,
            "/v1/portal/page/preview",
            Who::User,
            move |asked: Asked<(), Preview>| {
                let number = drawn.welcome()?.keep_preview(asked.body)?;
                Ok(PreviewNumber { number })
            },
        )
        .with_body(TEXT),
        Route::raw(
            Method::GET,
            "/v1/portal/page/preview/{number}",
            Who::User,
            move |asked: Asked<(), Nothing>| {
                let number = asked.parts[0].parse().ok();
                let welcome = preview.welcome()?;
                let page = number.and_then(|number| welcome.preview(number));
                let gone = || {
                    let hint = "request another one: POST /v1/portal/page/preview";
                    Problem::new(404, "no_preview", "no such preview", hint)
                };
                Ok(document(page.ok_or_else(gone)?, PREVIEW))
            },
        ),
        Route::raw_later(
            Method::GET,
            "/v1/portal/sheet",
            Who::User,
            move |asked: Asked<Wanted, Nothing>| sheet_of(&sheet, &asked.query),
        ),
        Route::get("/v1/portal/figures", Who::User, move |()| {
            Ok(figures.keeper()?.borrow().days.figures())
        }),
    ]
}

fn sheet_of(access: &Access, wanted: &Wanted) -> Later<Response<Answer>> {
    let chosen = chosen(access, wanted).and_then(|vouchers| {
        let title = access.welcome()?.title();
        let wifi = access.parts()?.wifi.clone();
        Ok((title, wifi, vouchers))
    });
    let language = wanted.language.clone();
    Box::pin(async move {
        let (title, wifi, vouchers) = chosen?;
        let html = aside(move || sheet::html(&title, &wifi, &language, &vouchers)).await?;
        Ok(document(html, SHEET))
    })
}

fn chosen(access: &Access, wanted: &Wanted) -> Result<Vec<PortalVoucher>, Problem> {
    let keeper = access.keeper()?;
    let keeper = keeper.borrow();
    let vouchers = match wanted.vouchers.is_empty() {
        false => {
            let ids = wanted.vouchers.iter();
            let found = ids.map(|id| keeper.voucher(id).ok_or_else(|| no_voucher(id)));
            found.collect::<Result<_, _>>()?
        }
        true => {
            let mut all = keeper.vouchers();
            all.retain(|voucher| voucher.state == "available");
            all
        }
    };
    if vouchers.len() > MOST as usize {
        let detail = format!("too many vouchers for a sheet: {}", vouchers.len());
        let hint = format!("choose at most {MOST}, or use `weir portal voucher print`");
        return Err(Problem::new(400, "too_many", detail, hint));
    }
    Ok(vouchers)
}

/// Returns the picture, for guests and for the administrator.
pub fn picture(welcome: &Welcome) -> Result<Response<Answer>, Problem> {
    let none = || {
        let hint = "set one by `weir portal picture set FILE`";
        Problem::new(404, "no_picture", "no picture on the page", hint)
    };
    let (media, octets) = welcome.picture().ok_or_else(none)?;
    Ok(answer(media, octets))
}

/// A page by itself, and what a browser may do with it.
fn document(html: String, policy: &'static str) -> Response<Answer> {
    let mut response = answer("text/html; charset=utf-8", html.into());
    let policy = HeaderValue::from_static(policy);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}

fn answer(media: &'static str, octets: Bytes) -> Response<Answer> {
    let mut response = Response::new(Answer::whole(octets));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
