//! What guests send: a code, a name, or that they go.

use api::server::{Answer, read_body};
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use portal_core::form::field;
use portal_core::page::Trouble;
use serde::Serialize;
use web::{Peer, RequestBody, Served};

use super::heads::{keep, moved, pass, text};
use super::{Door, FORM, Silent, Typed, visitor};
use crate::server::{Came, Knock, Named, Visitor};
use runtime::daemon::unix_seconds;

/// By these headers a browser says that it is one: what it sends has to have come from this page.
const BROWSERS: [&str; 4] = ["origin", "referer", "sec-fetch-site", "cookie"];

impl Door {
    /// Does what a form asks for.
    pub(super) async fn form(
        &self,
        path: &str,
        headers: &HeaderMap,
        body: RequestBody,
        peer: Peer,
    ) -> Response<Answer> {
        let Ok(body) = read_body(body, FORM, self.limits().request_time).await else {
            return text(StatusCode::PAYLOAD_TOO_LARGE, "text/plain", String::new());
        };
        let sent = |name: &str| field(&body, name).unwrap_or_default();
        let named = BROWSERS.iter().any(|name| headers.contains_key(*name));
        let whose = peer.address.to_string();
        if named && !self.tokens.is_valid(&sent("token"), &whose, unix_seconds()) {
            let forged = (Some(Trouble::Forged), Typed::default());
            return self
                .page(headers, peer, forged, StatusCode::FORBIDDEN)
                .await;
        }
        let address = peer.address;
        let typed = Typed {
            code: field(&body, "code"),
            name: field(&body, "name"),
        };
        let came = match path {
            "/logout" => Came {
                trouble: self.leave(peer).await,
                pass: None,
            },
            "/free" => {
                let visitor = Visitor {
                    password: sent("password"),
                    ..visitor(address)
                };
                self.knock("/portal/free", &visitor).await
            }
            "/account" => {
                let named = Named {
                    address,
                    name: sent("name"),
                    password: sent("password"),
                };
                self.knock("/portal/account", &named).await
            }
            _ => {
                let knock = Knock {
                    address,
                    code: sent("code"),
                    pass: pass(headers).map(|pass| pass.to_string()),
                };
                self.knock("/portal/login", &knock).await
            }
        };
        let status = match came.trouble {
            None => {
                let mut response = moved(StatusCode::SEE_OTHER, "/");
                if let Some(pass) = &came.pass {
                    keep(&mut response, pass);
                }
                return response;
            }
            Some(Trouble::Wait(_)) => StatusCode::TOO_MANY_REQUESTS,
            Some(Trouble::Broken | Trouble::Silent) => StatusCode::SERVICE_UNAVAILABLE,
            Some(_) => StatusCode::FORBIDDEN,
        };
        self.page(headers, peer, (came.trouble, typed), status)
            .await
    }

    /// Asks to be let in; what comes of it, unless that is well.
    async fn knock(&self, path: &str, said: &impl Serialize) -> Came {
        let answered: Result<Came, Silent> = self.ask(path, said).await;
        answered.unwrap_or(Came {
            trouble: Some(Trouble::Broken),
            pass: None,
        })
    }

    async fn leave(&self, peer: Peer) -> Option<Trouble> {
        let visitor = visitor(peer.address);
        let left: Result<(), Silent> = self.ask("/portal/logout", &visitor).await;
        left.is_err().then_some(Trouble::Broken)
    }
}
