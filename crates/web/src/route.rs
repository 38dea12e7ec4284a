//! Routing by method and path: pure. Paths are compared verbatim, so that no escape or `..` has a
//! meaning.

/// Target of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// `GET /api/session`
    Session,
    /// `POST /api/login`
    Login,
    /// `POST /api/logout`
    Logout,
    /// `POST /api/password`
    Password,
    /// A path of the daemon's API, as on the UNIX socket.
    Api(&'a str),
    /// `GET /metrics`
    Metrics,
    /// Any other path: perhaps a file of the page, by its name without the first slash.
    File(&'a str),
}

impl<'a> Route<'a> {
    pub(crate) fn of(path: &'a str) -> Self {
        match path {
            "/api/session" => Self::Session,
            "/api/login" => Self::Login,
            "/api/logout" => Self::Logout,
            "/api/password" => Self::Password,
            "/metrics" => Self::Metrics,
            _ => match path.strip_prefix("/api") {
                // The API has no path without `/v1`, and answers so.
                Some(rest) if rest.is_empty() || rest.starts_with('/') => Self::Api(rest),
                _ => Self::File(path.strip_prefix('/').unwrap_or(path)),
            },
        }
    }

    /// Returns the only allowed method, if the path determines it.
    pub(crate) fn method(&self) -> Option<&'static str> {
        match self {
            Self::Session | Self::Metrics | Self::File(_) => Some("GET"),
            Self::Login | Self::Logout | Self::Password => Some("POST"),
            Self::Api(_) => None,
        }
    }

    /// Returns true if the route allows a method. Files allow HEAD.
    pub(crate) fn takes(&self, method: &str) -> bool {
        match self {
            Self::Api(_) => matches!(method, "GET" | "POST" | "PUT" | "PATCH" | "DELETE"),
            Self::File(_) => matches!(method, "GET" | "HEAD"),
            _ => self.method() == Some(method),
        }
    }

    /// Returns true if the route serves the page's script rather than a user who opens the path.
    pub(crate) fn is_api(&self) -> bool {
        !matches!(self, Self::Metrics | Self::File(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (path, route) in [
            ("/", Route::File("")),
            ("/assets/a.js", Route::File("assets/a.js")),
            ("/api/session", Route::Session),
            ("/api/v1/flows", Route::Api("/v1/flows")),
            ("/api", Route::Api("")),
            ("/api/", Route::Api("/")),
            ("/apix", Route::File("apix")),
            ("/api/login/", Route::Api("/login/")),
            ("/metrics", Route::Metrics),
            ("//api/session", Route::File("/api/session")),
            ("/%61pi/session", Route::File("%61pi/session")),
            ("*", Route::File("*")),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }

    #[test]
    fn nothing_that_changes_is_got() {
        for path in ["/api/login", "/api/logout", "/api/password"] {
            for method in ["GET", "HEAD", "PUT", "OPTIONS", "post"] {
                assert!(!Route::of(path).takes(method), "{method} {path}");
            }
            assert!(Route::of(path).takes("POST"));
        }
        assert!(!Route::of("/api/v1/status").takes("HEAD"));
        assert!(!Route::of("/").takes("POST"));
    }
}
