//! The pages that a browser sees on its way back from a login. They are fixed text without scripts: what a
//! request says is never part of one, so there is nothing to escape and nothing to forge.

/// One of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    /// The login brought a code.
    Done,
    /// The authorization server says that there is none.
    Refused,
    /// No request that makes sense.
    Unreadable,
    /// Under another name than our address.
    WrongHost,
    /// At another path.
    WrongPath,
    /// No GET.
    WrongMethod,
    /// Of a login that was not begun here, or is over.
    WrongState,
}

impl Page {
    /// The whole answer.
    pub(super) fn response(self) -> String {
        let (status, title, text) = self.words();
        let body = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
             <body><h1>{title}</h1><p>{text}</p></body></html>\n"
        );
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\n\
             Content-Type: text/html; charset=utf-8\r\n\
             Content-Length: {length}\r\n\
             Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Referrer-Policy: no-referrer\r\n\
             X-Content-Type-Options: nosniff\r\n\
             X-Frame-Options: DENY\r\n\
             Cache-Control: no-store\r\n\
             Connection: close\r\n\r\n{body}"
        )
    }

    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Done => {
                ("200 OK", "You are back", "The program that you came from goes on. You can close this page.")
            }
            Self::Refused => (
                "200 OK",
                "The login was not completed",
                "The program that you came from says why. You can close this page.",
            ),
            Self::Unreadable => ("400 Bad Request", "Not understood", "This is no way back from a login."),
            Self::WrongHost => {
                ("421 Misdirected Request", "Not here", "This address answers to its own name only.")
            }
            Self::WrongPath => ("404 Not Found", "Nothing here", "There is nothing at this address."),
            Self::WrongMethod => (
                "405 Method Not Allowed\r\nAllow: GET",
                "Not understood",
                "This is no way back from a login.",
            ),
            Self::WrongState => (
                "400 Bad Request",
                "Another login",
                "This does not belong to the login that is under way. Nothing was done with it.",
            ),
        }
    }
}
