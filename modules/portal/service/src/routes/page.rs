//! Routes for the text of the guests' page, sheets of vouchers, and statistics.

use answers::{NewPicture, NewText, PortalVoucher, Preview, PreviewNumber};
use api::query::{Pairs, encode, unknown};
use api::server::ResponseBody;
use api::{AccessLevel, ApiRequest, EmptyBody, Method, Problem, Query, ResponseFuture, Route};
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};

use crate::access::PortalAccess;
use crate::background::run_blocking;
use crate::guest_service::{MOST, no_voucher};
use crate::page_content::PageContent;
use crate::sheet;

/// Content policy of a document to print: only its own styles.
const SHEET: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action \
    'none'; frame-ancestors 'none'";

/// Content policy of a preview within the administrator's page, with a picture.
const PREVIEW: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri \
    'none'; form-action 'none'; frame-ancestors 'self'";

/// Bytes of a text with its title, as JSON has them.
const TEXT: usize = 64 * 1024;
/// Maximum length of a picture as base64, in bytes.
const PICTURE: usize = 192 * 1024;

/// Vouchers of a sheet.
struct SheetQuery {
    /// Ids of the vouchers; none: all unused ones.
    vouchers: Vec<String>,
    /// Language of its words.
    language: String,
}

impl Query for SheetQuery {
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

/// Version of the picture: only one picture exists, and the number is for browsers' caches.
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
pub fn all(access: &PortalAccess) -> Vec<Route> {
    let me = || access.clone();
    let (shown, edited, reset, framed, unframed) = (me(), me(), me(), me(), me());
    let (picture, drawn, preview, figures, sheet) = (me(), me(), me(), me(), me());
    vec![
        Route::get("/v1/portal/page", AccessLevel::User, move |()| {
            Ok(shown.content()?.page())
        }),
        Route::new_async(
            Method::POST,
            "/v1/portal/page/text",
            AccessLevel::User,
            move |asked: ApiRequest<(), NewText>| {
                let welcome = edited.content();
                Box::pin(async move { welcome?.edit(asked.body).await })
            },
        )
        .with_body(TEXT),
        Route::new_async(
            Method::POST,
            "/v1/portal/page/text/reset",
            AccessLevel::User,
            move |_: ApiRequest<(), EmptyBody>| {
                let welcome = reset.content();
                Box::pin(async move { welcome?.reset().await })
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/portal/page/picture",
            AccessLevel::User,
            move |asked: ApiRequest<(), NewPicture>| {
                let welcome = framed.content();
                Box::pin(async move { welcome?.set_picture(asked.body.picture).await })
            },
        )
        .with_body(PICTURE),
        Route::new_async(
            Method::POST,
            "/v1/portal/page/picture/remove",
            AccessLevel::User,
            move |_: ApiRequest<(), EmptyBody>| {
                let welcome = unframed.content();
                Box::pin(async move { welcome?.remove_picture().await })
            },
        ),
        Route::raw(
            Method::GET,
            "/v1/portal/page/picture",
            AccessLevel::User,
            move |_: ApiRequest<Version, EmptyBody>| self::picture(&*picture.content()?),
        ),
        Route::new(
            Method::POST,
            "/v1/portal/page/preview",
            AccessLevel::User,
            move |asked: ApiRequest<(), Preview>| {
                let number = drawn.content()?.keep_preview(asked.body)?;
                Ok(PreviewNumber { number })
            },
        )
        .with_body(TEXT),
        Route::raw(
            Method::GET,
            "/v1/portal/page/preview/{number}",
            AccessLevel::User,
            move |asked: ApiRequest<(), EmptyBody>| {
                let number = asked.path_params[0].parse().ok();
                let welcome = preview.content()?;
                let page = number.and_then(|number| welcome.preview(number));
                let gone = || {
                    let hint = "request another one: POST /v1/portal/page/preview";
                    Problem::new(404, "no_preview", "no such preview", hint)
                };
                Ok(document(page.ok_or_else(gone)?, PREVIEW))
            },
        ),
        Route::raw_async(
            Method::GET,
            "/v1/portal/sheet",
            AccessLevel::User,
            move |asked: ApiRequest<SheetQuery, EmptyBody>| sheet_of(&sheet, &asked.query),
        ),
        Route::get("/v1/portal/figures", AccessLevel::User, move |()| {
            Ok(figures.guest_service()?.borrow().statistics.statistics())
        }),
    ]
}

fn sheet_of(access: &PortalAccess, wanted: &SheetQuery) -> ResponseFuture<Response<ResponseBody>> {
    let chosen = chosen(access, wanted).and_then(|vouchers| {
        let title = access.content()?.title();
        let wifi = access.parts()?.wifi.clone();
        Ok((title, wifi, vouchers))
    });
    let language = wanted.language.clone();
    Box::pin(async move {
        let (title, wifi, vouchers) = chosen?;
        let html = run_blocking(move || sheet::html(&title, &wifi, &language, &vouchers)).await?;
        Ok(document(html, SHEET))
    })
}

fn chosen(access: &PortalAccess, wanted: &SheetQuery) -> Result<Vec<PortalVoucher>, Problem> {
    let keeper = access.guest_service()?;
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
pub fn picture(welcome: &PageContent) -> Result<Response<ResponseBody>, Problem> {
    let none = || {
        let hint = "set one by `weir portal picture set FILE`";
        Problem::new(404, "no_picture", "no picture on the page", hint)
    };
    let (media, octets) = welcome.picture().ok_or_else(none)?;
    Ok(answer(media, octets))
}

/// Returns a complete page, with its content policy.
fn document(html: String, policy: &'static str) -> Response<ResponseBody> {
    let mut response = answer("text/html; charset=utf-8", html.into());
    let policy = HeaderValue::from_static(policy);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}

fn answer(media: &'static str, octets: Bytes) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(octets));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
