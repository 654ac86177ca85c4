//! A person at a browser, without the browser: reads the pages of the authorization server, keeps its cookies, fills
//! in its forms and presses the button that says yes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::Error;
use contexture::auth::{CallbackParams, Visit, Visiting, Visitor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Nobody listens there: where the browser would be sent is read off the answer.
const REDIRECT: &str = "http://127.0.0.1:49151/callback";
/// Login, consent, the redirects between them, and some to spare.
const MOST_PAGES: usize = 8;

/// Logs in as `ada` and allows everything; counts how often it was asked to.
#[derive(Clone, Default)]
pub(crate) struct Person {
    visits: Arc<AtomicUsize>,
}

impl Person {
    pub(crate) fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

impl Visitor for Person {
    fn prepare<'a>(&'a self, _wished: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        Box::pin(async { Ok(Box::new(Walk { visits: Arc::clone(&self.visits) }) as Box<dyn Visit>) })
    }
}

struct Walk {
    visits: Arc<AtomicUsize>,
}

impl Visit for Walk {
    fn redirect_uri(&self) -> &str {
        REDIRECT
    }

    fn go<'a>(self: Box<Self>, url: &'a str, _state: &'a str) -> Visiting<'a, CallbackParams> {
        self.visits.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let back = Browser::default().walk(url).await.map_err(Error::Misuse)?;
            CallbackParams::parse(&back)
        })
    }
}

/// Plain HTTP, one connection for each request, and cookies.
#[derive(Default)]
struct Browser {
    cookies: BTreeMap<String, String>,
}

/// What came back.
struct Answer {
    status: String,
    location: Option<String>,
    page: String,
}

impl Browser {
    /// From the authorization request to where it leads back to.
    async fn walk(mut self, url: &str) -> Result<String, String> {
        let rest = url.strip_prefix("http://").ok_or("not on this machine")?;
        let (host, target) = rest.split_once('/').ok_or("no path")?;
        let (mut target, mut form) = (format!("/{target}"), None);
        for _ in 0..MOST_PAGES {
            let answer = self.ask(host, &target, form.take()).await.map_err(|error| error.to_string())?;
            match answer.location {
                Some(location) if location.starts_with(REDIRECT) => return Ok(location),
                Some(location) => {
                    target = location.strip_prefix(&format!("http://{host}")).unwrap_or(&location).to_owned();
                }
                None => {
                    let (action, filled) =
                        fill_in(&answer.page).ok_or_else(|| format!("{}: {}", answer.status, answer.page))?;
                    (target, form) = (action, Some(filled));
                }
            }
        }
        Err(format!("no way back after {MOST_PAGES} pages"))
    }

    async fn ask(&mut self, host: &str, target: &str, form: Option<String>) -> std::io::Result<Answer> {
        let method = if form.is_some() { "POST" } else { "GET" };
        let body = form.unwrap_or_default();
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nCookie: {}\r\nOrigin: http://{host}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            cookies.join("; "),
            body.len(),
        );
        let mut stream = TcpStream::connect(host).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut said = String::new();
        stream.read_to_string(&mut said).await?;
        let (head, page) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
        let headers: Vec<(&str, &str)> = head.lines().filter_map(|line| line.split_once(": ")).collect();
        let of = |name: &'static str| {
            headers.iter().filter(move |(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
        };
        for cookie in of("set-cookie") {
            if let Some((name, value)) = cookie.split(';').next().and_then(|pair| pair.split_once('=')) {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let status = head.lines().next().unwrap_or_default().to_owned();
        Ok(Answer { status, location: of("location").next().map(str::to_owned), page: page.to_owned() })
    }
}

/// Where the page's form goes, and what it says once it is filled in.
fn fill_in(page: &str) -> Option<(String, String)> {
    let form = page.split_once("<form ")?.1;
    let action = between(form, "action=\"", "\"")?.to_owned();
    let hidden = form.split("<input type=hidden ").skip(1);
    let mut said: Vec<String> = hidden
        .filter_map(|input| {
            Some(format!("{}={}", between(input, "name=", " ")?, between(input, "value=\"", "\"")?))
        })
        .collect();
    if form.contains("<input name=name ") {
        said.push("name=ada".to_owned());
    }
    if form.contains("name=decision value=allow") {
        said.push("decision=allow".to_owned());
    }
    Some((action, said.join("&")))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(inner, _)| inner)
}
