//! A person at a browser, without the browser: follows redirects, keeps cookies, signs in at authorization servers and
//! presses the buttons that it is told to.

use std::collections::BTreeMap;

use contexture::Error;
use contexture::auth::{CallbackParams, Visit, Visiting, Visitor};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Where a client of the gateway has its people come back to. Nobody listens there.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:49151/callback";
/// Redirects and pages on one way.
const MOST: usize = 16;

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) url: String,
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) page: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    fn location(&self) -> Option<&str> {
        self.header("location")
    }

    /// The address that a button of our own page leads to.
    pub(crate) fn button(&self, name: &str) -> String {
        let action = between(&self.page, "action=\"", "\"").unwrap_or_else(|| panic!("no form: {self:?}"));
        let token = between(&self.page, &format!("name={name} value=\""), "\"").expect("a button");
        format!("{}{action}?{name}={token}", origin(&self.url))
    }
}

/// One browser, in which somebody signs in under one name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Browser {
    pub(crate) cookies: BTreeMap<String, String>,
    /// The name to sign in with.
    pub(crate) name: String,
    /// Whether to say no where an authorization server asks.
    pub(crate) denies: bool,
    /// Every address that was visited.
    pub(crate) visited: Vec<String>,
}

impl Browser {
    pub(crate) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Follows a link until a page that is not an authorization server's, or one that `stop` knows.
    pub(crate) async fn walk(&mut self, url: &str, stop: impl Fn(&str) -> bool) -> Answer {
        let (mut url, mut form) = (url.to_owned(), None);
        for _ in 0..MOST {
            if stop(&url) {
                return Answer { url, status: 0, head: String::new(), page: String::new() };
            }
            let answer = self.ask(&url, form.take()).await;
            if let Some(location) = answer.location() {
                let here = origin(&url).to_owned();
                url =
                    if location.starts_with('/') { format!("{here}{location}") } else { location.to_owned() };
            } else if let Some((action, filled)) = self.fill_in(&answer.page) {
                (url, form) = (format!("{}{action}", origin(&url)), Some(filled));
            } else {
                return answer;
            }
        }
        panic!("no end after {MOST} pages: {url}")
    }

    /// Opens a link and goes on to the page of the gateway that asks.
    pub(crate) async fn open(&mut self, link: &str) -> Answer {
        self.walk(link, |_| false).await
    }

    /// Presses a button of the gateway's page.
    pub(crate) async fn press(&mut self, page: &Answer, button: &str) -> Answer {
        self.walk(&page.button(button), |_| false).await
    }

    /// One request, without following anything.
    #[allow(dead_code, reason = "another test program includes this file, too")]
    pub(crate) async fn get(&mut self, url: &str) -> Answer {
        self.ask(url, None).await
    }

    async fn ask(&mut self, url: &str, form: Option<String>) -> Answer {
        self.visited.push(url.to_owned());
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("not on this machine: {url}"));
        let (host, target) = rest.split_once('/').unwrap_or((rest, ""));
        let method = if form.is_some() { "POST" } else { "GET" };
        let origin = form.as_ref().map(|_| format!("Origin: http://{host}\r\n")).unwrap_or_default();
        let body = form.unwrap_or_default();
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = format!(
            "{method} /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nCookie: {}\r\n{origin}\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            cookies.join("; "),
            body.len(),
        );
        let mut stream = TcpStream::connect(host).await.expect("a server");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut said = String::new();
        stream.read_to_string(&mut said).await.expect("an answer");
        let (head, page) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let answer = Answer { url: url.to_owned(), status, head: head.to_owned(), page: page.to_owned() };
        let set = head.lines().filter_map(|line| line.split_once(": "));
        for (_, cookie) in set.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
            if let Some((name, value)) = cookie.split(';').next().and_then(|pair| pair.split_once('=')) {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// The form of an authorization server, filled in.
    fn fill_in(&self, page: &str) -> Option<(String, String)> {
        let form = page.split_once("<form method=post ")?.1;
        let action = between(form, "action=\"", "\"")?.to_owned();
        let hidden = form.split("<input type=hidden ").skip(1);
        let mut said: Vec<String> = hidden
            .filter_map(|input| {
                Some(format!("{}={}", between(input, "name=", " ")?, between(input, "value=\"", "\"")?))
            })
            .collect();
        if form.contains("<input name=name ") {
            said.push(format!("name={}", self.name));
        }
        if form.contains("name=decision value=allow") {
            said.push(format!("decision={}", if self.denies { "deny" } else { "allow" }));
        }
        Some((action, said.join("&")))
    }
}

fn origin(url: &str) -> &str {
    let host = url.strip_prefix("http://").unwrap_or(url);
    let end = host.find('/').unwrap_or(host.len());
    &url[..url.len() - host.len() + end]
}

pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(inner, _)| inner)
}

/// How a client of the gateway has its person log in to the gateway.
pub(crate) struct SignsIn(pub(crate) Browser);

impl Visitor for SignsIn {
    fn prepare<'a>(&'a self, _registered: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        let browser = self.0.clone();
        Box::pin(async { Ok(Box::new(Walk(browser)) as Box<dyn Visit>) })
    }
}

struct Walk(Browser);

impl Visit for Walk {
    fn redirect_uri(&self) -> &str {
        REDIRECT
    }

    fn go<'a>(mut self: Box<Self>, url: &'a str, _state: &'a str) -> Visiting<'a, CallbackParams> {
        Box::pin(async move {
            let back = self.0.walk(url, |url| url.starts_with(REDIRECT)).await;
            if back.status != 0 {
                return Err(Error::Misuse(format!("no way back: {back:?}")));
            }
            CallbackParams::parse(&back.url)
        })
    }
}
