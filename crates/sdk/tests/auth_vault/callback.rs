//! The way back from a login, as browsers and others use it: row F16 of the threats.

use std::time::Duration;

use contexture::auth::{Callback, CallbackParams};
use contexture::{Error, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A login that waits for its browser.
struct Waiting {
    authority: String,
    login: JoinHandle<Result<CallbackParams>>,
}

impl Waiting {
    async fn new() -> Self {
        let callback = Callback::bind(None).await.expect("a port");
        let uri = callback.redirect_uri().to_owned();
        let authority = uri.strip_prefix("http://").and_then(|uri| uri.strip_suffix("/callback"));
        let authority = authority.expect("a loopback address").to_owned();
        let login = tokio::spawn(async move { callback.wait("right-state").await });
        Self { authority, login }
    }

    /// Sends these bytes and gives the whole answer.
    async fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.authority).await.expect("it listens");
        // A server that has heard enough may hang up before all is said.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).expect("text")
    }

    async fn get(&self, target: &str) -> String {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", self.authority)).await
    }

    fn goes_on(&self) -> bool {
        !self.login.is_finished()
    }

    async fn ends(self) -> Result<CallbackParams> {
        self.login.await.expect("no panic")
    }
}

// covers: AUTH-REDIRECT-SCHEME
#[tokio::test]
async fn the_browser_brings_back_what_the_login_needs_and_may_be_closed() {
    let waiting = Waiting::new().await;
    assert!(waiting.authority.starts_with("127.0.0.1:"), "{}", waiting.authority);
    let page =
        waiting.get("/callback?code=a%2Bb+c&state=right-state&iss=https%3A%2F%2Fissuer.example&x=1").await;
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("You can close this"), "{page}");
    let params = waiting.ends().await.expect("a code");
    assert_eq!(params.code.as_ref().map(|code| code.expose()), Some("a+b c"));
    assert_eq!(params.iss.as_deref(), Some("https://issuer.example"));
    assert!(!format!("{params:?}").contains("a+b c"), "a code is a secret");
}

#[tokio::test]
async fn an_error_comes_back_too_and_its_words_are_on_no_page() {
    let waiting = Waiting::new().await;
    let script = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let page = waiting
        .get(&format!("/callback?error=access_denied{script}&error_description={script}&state=right-state"))
        .await;
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("You can close this"), "{page}");
    assert!(!page.contains("script") && !page.contains("alert") && !page.contains("access_denied"), "{page}");
    let params = waiting.ends().await.expect("an error of the authorization server");
    assert_eq!(params.error_description.as_deref(), Some("<script>alert(1)</script>"));
    assert!(params.code.is_none());
}

#[tokio::test]
async fn what_is_not_the_way_back_is_refused_and_the_login_goes_on() {
    let waiting = Waiting::new().await;
    let here = waiting.authority.clone();
    let port = here.rsplit(':').next().expect("a port");
    let good = "/callback?code=c&state=right-state";
    let request = |line: &str, host: &str| format!("{line}\r\nHost: {host}\r\n\r\n");
    let get = |target: &str| request(&format!("GET {target} HTTP/1.1"), &here);
    let cases = [
        // Another name for this address: a page of that name could read the answer.
        (request(&format!("GET {good} HTTP/1.1"), "evil.example"), "421"),
        (request(&format!("GET {good} HTTP/1.1"), &format!("evil.example:{port}")), "421"),
        (request(&format!("GET {good} HTTP/1.1"), "127.0.0.1"), "421"),
        (request(&format!("GET {good} HTTP/1.1"), &format!("127.0.0.1.evil.example:{port}")), "421"),
        (request(&format!("GET {good} HTTP/1.1"), &format!("{here}\r\nHost: evil.example")), "421"),
        (format!("GET {good} HTTP/1.1\r\n\r\n"), "421"),
        // Another path, another method, no HTTP.
        (get("/favicon.ico"), "404"),
        (get("/"), "404"),
        (get("/callback/?code=c&state=right-state"), "404"),
        (get("/Callback?code=c&state=right-state"), "404"),
        (get("//callback?code=c&state=right-state"), "404"),
        (get(&format!("http://{here}{good}")), "404"),
        (request(&format!("POST {good} HTTP/1.1"), &here), "405"),
        (request(&format!("HEAD {good} HTTP/1.1"), &here), "405"),
        (request(&format!("GET {good} HTTP/2.0"), &here), "400"),
        (request(&format!("GET {good}"), &here), "400"),
        ("\r\n\r\n".to_owned(), "400"),
        // Rows F07: no state, another one, also on errors.
        (get("/callback"), "400"),
        (get("/callback?code=c"), "400"),
        (get("/callback?code=c&state="), "400"),
        (get("/callback?code=c&state=wrong-state"), "400"),
        (get("/callback?code=c&state=RIGHT-STATE"), "400"),
        (get("/callback?error=access_denied"), "400"),
        (get("/callback?error=access_denied&state=wrong-state"), "400"),
        // Two of a kind, or nothing.
        (get("/callback?code=c&state=right-state&state=right-state"), "400"),
        (get("/callback?code=c&code=d&state=right-state"), "400"),
        (get("/callback?code=c&error=e&state=right-state"), "400"),
        (get("/callback?state=right-state"), "400"),
        // More than any browser says.
        (get(&format!("/callback?code={}&state=right-state", "x".repeat(20_000))), "400"),
    ];
    for (request, status) in cases {
        let page = waiting.send(&request).await;
        assert!(page.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {page}");
        assert!(!page.contains("evil") && waiting.goes_on(), "{request:?}: {page}");
    }
    assert!(waiting.get(good).await.starts_with("HTTP/1.1 200 "));
    assert!(waiting.ends().await.is_ok());
}

#[tokio::test]
async fn every_page_is_guarded() {
    let waiting = Waiting::new().await;
    for target in ["/", "/callback?code=c&state=wrong-state", "/callback?code=c&state=right-state"] {
        let page = waiting.get(target).await.to_lowercase();
        for line in [
            "content-security-policy: default-src 'none';",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff\r\n",
            "referrer-policy: no-referrer\r\n",
            "cache-control: no-store\r\n",
            "connection: close\r\n",
            "content-type: text/html; charset=utf-8\r\n",
        ] {
            assert!(page.contains(line), "{target}: {line}: {page}");
        }
        assert!(!page.contains("access-control-allow-origin") && !page.contains("<script"), "{page}");
    }
}

#[tokio::test]
async fn nobody_comes_back_twice() {
    let waiting = Waiting::new().await;
    let authority = waiting.authority.clone();
    // One that was there before, and has not said anything yet.
    let mut early = TcpStream::connect(&authority).await.expect("it listens");
    assert!(waiting.get("/callback?code=first&state=right-state").await.starts_with("HTTP/1.1 200 "));
    let params = waiting.ends().await.expect("a code");
    assert_eq!(params.code.as_ref().map(|code| code.expose()), Some("first"));
    let again = format!("GET /callback?code=second&state=right-state HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    let _ = early.write_all(again.as_bytes()).await;
    let mut answer = String::new();
    let _ = early.read_to_string(&mut answer).await;
    assert_eq!(answer, "", "a second hit is answered");
    assert!(TcpStream::connect(&authority).await.is_err(), "it still listens");
}

/// Browsers open connections that they never use; others might do so on purpose.
#[tokio::test]
async fn silent_connections_do_not_keep_the_browser_out() {
    let waiting = Waiting::new().await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(&waiting.authority).await.expect("it listens"));
    }
    let mut half = TcpStream::connect(&waiting.authority).await.expect("it listens");
    half.write_all(b"GET /callback?code=c&state=right-state HTTP/1.1\r\nHost:").await.expect("it reads");
    assert!(waiting.get("/callback?code=c&state=right-state").await.starts_with("HTTP/1.1 200 "));
    assert!(waiting.ends().await.is_ok());
}

#[tokio::test]
async fn a_request_may_come_in_pieces() {
    let waiting = Waiting::new().await;
    let mut stream = TcpStream::connect(&waiting.authority).await.expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    let request =
        format!("GET /callback?code=c&state=right-state HTTP/1.1\r\nHost: {}\r\n\r\n", waiting.authority);
    for byte in request.bytes() {
        stream.write_all(&[byte]).await.expect("it reads");
        tokio::task::yield_now().await;
    }
    assert!(waiting.ends().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_person_who_never_comes_back_is_not_waited_for_any_longer() {
    let callback = Callback::bind(None).await.expect("a port");
    let begun = tokio::time::Instant::now();
    let error = callback.wait("right-state").await.expect_err("nobody came");
    assert!(matches!(error, Error::Timeout(time) if time == Duration::from_secs(300)), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 300, "by the clock of the test, which does not wait");
}

#[tokio::test]
async fn a_wished_port_is_taken_or_named() {
    let taken = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let error = Callback::bind(Some(port)).await.expect_err("it is in use");
    let words = error.to_string();
    assert!(words.contains(&port.to_string()) && words.contains("in use"), "{words}");
    drop(taken);
    let callback = Callback::bind(Some(port)).await.expect("it is free again");
    assert_eq!(callback.redirect_uri(), format!("http://127.0.0.1:{port}/callback"));
}

#[tokio::test]
async fn the_port_of_an_earlier_login_is_used_again_if_it_can_be() {
    let first = Callback::bind(None).await.expect("a port");
    let uri = first.redirect_uri().to_owned();
    let busy = Callback::bind_again(None, Some(&uri)).await.expect("another port");
    assert_ne!(busy.redirect_uri(), uri);
    drop(first);
    let again = Callback::bind_again(None, Some(&uri)).await.expect("it is free");
    assert_eq!(again.redirect_uri(), uri);
    let only = busy.redirect_uri().to_owned();
    let port = only
        .rsplit(':')
        .next()
        .and_then(|rest| rest.split('/').next())
        .expect("a port")
        .parse()
        .expect("digits");
    drop((busy, again));
    let wished = Callback::bind_again(Some(port), Some(&uri)).await.expect("it is free");
    assert_eq!(wished.redirect_uri(), only);
    for foreign in
        ["https://app.example/callback", "http://127.0.0.1:1/other", "http://127.0.0.1/callback", ""]
    {
        let callback = Callback::bind_again(None, Some(foreign)).await.expect("any port");
        assert!(callback.redirect_uri().starts_with("http://127.0.0.1:"), "{foreign}");
    }
}

#[test]
fn the_way_back_can_be_read_from_what_a_person_pastes() {
    let url = "http://127.0.0.1:1234/callback?code=c%20d&state=s&iss=https://issuer.example";
    for text in [
        url,
        "?code=c+d&state=s&iss=https%3A%2F%2Fissuer.example",
        "code=c%20d&state=s&iss=https://issuer.example",
    ] {
        let params = CallbackParams::parse(text).expect("it is whole");
        let code = params.code.as_ref().map(|code| code.expose());
        let found = (code, params.state.as_deref(), params.iss.as_deref());
        assert_eq!(found, (Some("c d"), Some("s"), Some("https://issuer.example")), "{text}");
    }
    for wrong in [
        "",
        "hello",
        "state=s",
        "code=a&code=b&state=s",
        "code=a&error=b",
        url.split('?').next().unwrap_or(""),
    ] {
        assert!(CallbackParams::parse(wrong).is_err(), "{wrong:?}");
    }
}
