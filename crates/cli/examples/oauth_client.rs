//! Our client logs in: the counterpart of the programs `oauth` in `interop/`.
//!
//! `oauth_client --scoped TOOL -- URL OTHER`: URL and OTHER are servers that one authorization server protects, TOOL needs
//! a scope that nobody asks for at first. `BROWSER` names the program that is a person at a browser, `BROWSER_LOG` the
//! file that it writes its visits to. Runs the checks of `interop/oauth/checks.txt` and prints one line of JSON for each.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contexture::auth::{Authorization, MemoryStore, Stored, TokenStore};
use contexture::{Client, Error};
use serde_json::json;

/// The names of the checks, in order.
const CHECKS: &str = include_str!("../../../interop/oauth/checks.txt");
const PATIENCE: Duration = Duration::from_secs(60);

/// A detail, or what is wrong.
type Outcome = Result<String, String>;

/// Who logs in, and where.
struct Login {
    scoped: String,
    url: String,
    other: String,
    store: Arc<MemoryStore>,
    client: Option<Client>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [flag, scoped, dashes, url, other] = words.as_slice() else {
        eprintln!("usage: BROWSER=PROGRAM oauth_client --scoped TOOL -- URL OTHER");
        return ExitCode::from(2);
    };
    if (flag.as_str(), dashes.as_str()) != ("--scoped", "--") {
        eprintln!("usage: BROWSER=PROGRAM oauth_client --scoped TOOL -- URL OTHER");
        return ExitCode::from(2);
    }
    let (scoped, url, other) = (scoped.clone(), url.clone(), other.clone());
    let mut login = Login { scoped, url, other, store: Arc::default(), client: None };
    let mut failed = false;
    for check in CHECKS.lines().filter(|line| !line.trim().is_empty()) {
        let outcome = tokio::time::timeout(PATIENCE, login.run(check)).await;
        failed |= report(check, outcome.unwrap_or_else(|_| Err("no end within a minute".to_owned())));
    }
    if let Some(client) = login.client {
        client.close().await;
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Prints the line of a check; says whether it failed.
#[allow(clippy::print_stdout, reason = "the report is the output")]
fn report(check: &str, outcome: Outcome) -> bool {
    let (status, detail) = match outcome {
        Ok(detail) => ("ok", detail),
        Err(detail) => ("fail", detail),
    };
    println!("{}", json!({ "check": check, "status": status, "detail": detail }));
    status == "fail"
}

impl Login {
    async fn run(&mut self, check: &str) -> Outcome {
        match check {
            "401 names the metadata" => self.names_metadata().await,
            "login in the browser" => self.log_in().await,
            "tools/call" => self.echo().await,
            "refresh after expiry" => self.refresh().await,
            "step-up" => self.step_up().await,
            "token of another server refused" => self.refused_elsewhere().await,
            _ => Err("this program does not know the check".to_owned()),
        }
    }

    async fn names_metadata(&self) -> Outcome {
        let challenge = refusal(Client::builder(), &self.url).await?;
        let wanted = self.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
        expect(challenge.contains(&format!("resource_metadata=\"{wanted}\"")), &wanted, &challenge)
    }

    async fn log_in(&mut self) -> Outcome {
        let authorization =
            Authorization::browser().client_name("contexture-interop").store(Arc::clone(&self.store));
        let client = Client::builder().authorization(authorization);
        self.client = Some(client.connect(&self.url).await.map_err(|error| error.to_string())?);
        expect(visits()? == 1, "one visit", &visits()?.to_string())?;
        let tokens = self.kept().await?.tokens.ok_or("nothing is kept")?;
        expect(tokens.refresh.is_some(), "a refresh token", "none")?;
        Ok(format!("scope {}", tokens.scopes))
    }

    async fn echo(&self) -> Outcome {
        let reply = self.client()?.call("echo", json!({ "message": "hello" })).await;
        let reply = reply.map_err(|error| error.to_string())?;
        expect(reply.text() == "hello", "hello", &reply.text())
    }

    async fn refresh(&self) -> Outcome {
        let before = self.kept().await?;
        let expires =
            before.tokens.as_ref().and_then(|tokens| tokens.expires_at).ok_or("it never expires")?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
        tokio::time::sleep(Duration::from_secs(expires + 1).saturating_sub(now)).await;
        self.echo().await?;
        let after = self.kept().await?;
        expect(visits()? == 1, "no other visit", &visits()?.to_string())?;
        expect(access(&before) != access(&after), "another access token", "the same")?;
        let refresh =
            |stored: &Stored| stored.tokens.as_ref()?.refresh.as_ref().map(|it| it.expose().to_owned());
        expect(refresh(&before) != refresh(&after), "another refresh token", "the same")
    }

    async fn step_up(&self) -> Outcome {
        let reply = self.client()?.call(&self.scoped, json!({})).await.map_err(|error| error.to_string())?;
        expect(!reply.is_error(), "a result", &reply.text())?;
        expect(visits()? == 2, "a second visit", &visits()?.to_string())?;
        self.echo().await?;
        let scopes = self.kept().await?.tokens.map(|tokens| tokens.scopes.to_string());
        Ok(format!("scope {}", scopes.unwrap_or_default()))
    }

    async fn refused_elsewhere(&self) -> Outcome {
        let token = access(&self.kept().await?).ok_or("no token is kept")?;
        let shown = || Client::builder().header("Authorization", format!("Bearer {token}"));
        let own = shown().connect(&self.url).await.map_err(|error| format!("its own server: {error}"))?;
        own.close().await;
        let challenge = refusal(shown(), &self.other).await?;
        expect(challenge.contains("error=\"invalid_token\""), "invalid_token", &challenge)
    }

    fn client(&self) -> Result<&Client, String> {
        self.client.as_ref().ok_or_else(|| "there is no connection".to_owned())
    }

    /// What is kept of the only login.
    async fn kept(&self) -> Result<Stored, String> {
        let keys = self.store.list().await.map_err(|error| error.to_string())?;
        let [key] = keys.as_slice() else { return Err(format!("{} logins are kept", keys.len())) };
        let stored = self.store.load(key).await.map_err(|error| error.to_string())?;
        stored.ok_or_else(|| "nothing is kept".to_owned())
    }
}

fn access(stored: &Stored) -> Option<String> {
    stored.tokens.as_ref().map(|tokens| tokens.access.expose().to_owned())
}

/// The challenge of a 401.
async fn refusal(client: contexture::client::Builder, url: &str) -> Result<String, String> {
    match client.connect(url).await {
        Err(Error::Http(refusal)) if refusal.status == 401 => Ok(refusal.challenges.join(", ")),
        Err(error) => Err(format!("expected a 401, got: {error}")),
        Ok(_) => Err("it was let in".to_owned()),
    }
}

/// How often a browser was opened.
fn visits() -> Result<usize, String> {
    let log = std::env::var_os("BROWSER_LOG").ok_or("BROWSER_LOG names no file")?;
    let text = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    Ok(text.lines().filter(|line| line.starts_with("{\"opened\"")).count())
}

fn expect(held: bool, what: &str, got: &str) -> Outcome {
    if held { Ok(String::new()) } else { Err(format!("expected {what}, got {got}")) }
}
