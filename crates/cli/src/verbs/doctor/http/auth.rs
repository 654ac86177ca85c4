//! The way to a login, step by step: what the server asks for, who issues that, how clients become known there, and what is stored.
//!
//! Logs nobody in, registers nothing, and never shows a token.

use std::time::{SystemTime, UNIX_EPOCH};

use contexture::auth::metadata::{ResourceMetadata, ServerMetadata};
use contexture::auth::{Account, Asked, Authorization, Survey};
use reqwest::header::WWW_AUTHENTICATE;

use super::super::report::Report;
use super::super::step::Step;
use super::probe::Seen;
use crate::verbs::hint::quoted;

/// `shows` says whether something was shown that the server did not take.
pub(super) async fn judge(report: &mut Report, url: &str, seen: &Seen, shows: bool) -> Option<()> {
    report.begin(Step::Challenge);
    let values = seen.headers.get_all(WWW_AUTHENTICATE).iter();
    let challenges: Vec<String> = values.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect();
    let policy = Authorization::stored();
    let survey = policy.survey(url, &challenges).await;
    challenge(report, &challenges, survey.asked.as_ref());
    if shows {
        let why = survey.asked.as_ref().and_then(|asked| asked.error.as_deref());
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        let seen = format!("the header Authorization that was given is refused{why}");
        return report.fail(Step::Login, seen, "is the token still good, and is it for this server?");
    }
    let issuer = documents(report, survey)?;
    registration(report, &issuer);
    report.begin(Step::Login);
    stored(report, url, policy.status(url).await)
}

fn challenge(report: &mut Report, challenges: &[String], asked: Option<&Asked>) {
    let next = "its operator has to send WWW-Authenticate: Bearer resource_metadata=\"…\" with each 401";
    match asked {
        Some(asked) => {
            let scopes = asked.scopes.as_ref().map(|scopes| format!(", scopes {scopes}")).unwrap_or_default();
            match &asked.resource_metadata {
                Some(named) => {
                    report.passed(Step::Challenge, format!("{}, see {named}{scopes}", asked.scheme))
                }
                None => {
                    let seen = format!("{}, without saying where tokens come from{scopes}", asked.scheme);
                    report.warn(Step::Challenge, seen, next);
                }
            }
        }
        None if challenges.is_empty() => report.warn(Step::Challenge, "401 without WWW-Authenticate", next),
        None => {
            let schemes: Vec<&str> = challenges.iter().filter_map(|value| value.split(' ').next()).collect();
            let seen = format!("it wants {}, which is no token", schemes.join(", "));
            report.warn(Step::Challenge, seen, "give it with --header 'Authorization: …'");
        }
    }
}

/// What the server and its issuer say about themselves.
fn documents(report: &mut Report, survey: Survey) -> Option<ServerMetadata> {
    report.begin(Step::Resource);
    let is_named = match survey.resource {
        Ok(Some(document)) => {
            report.passed(Step::Resource, resource(&document));
            true
        }
        Ok(None) => {
            let next = "its operator has to serve /.well-known/oauth-protected-resource; without it, the server's own origin is tried";
            report.warn(Step::Resource, "it says nowhere who issues its tokens", next);
            false
        }
        Err(error) => {
            return report.fail(Step::Resource, error.to_string(), "its operator has to mend that document");
        }
    };
    report.begin(Step::Issuer);
    let next = "its operator has to serve /.well-known/oauth-authorization-server";
    match survey.issuer {
        Some(Ok(Some(issuer))) => {
            report.passed(Step::Issuer, issuer.issuer.clone());
            Some(issuer)
        }
        Some(Err(error)) => report.fail(Step::Issuer, error.to_string(), next),
        _ if is_named => report.fail(Step::Issuer, "it describes itself nowhere", next),
        _ => {
            let seen = "nobody says who issues tokens: not the server, and not its origin";
            let next = "if you have a token, give it with --header 'Authorization: Bearer …'; its operator has to name an authorization server (RFC 9728)";
            report.fail(Step::Issuer, seen, next)
        }
    }
}

fn resource(document: &ResourceMetadata) -> String {
    let scopes = document.scopes_supported.as_deref().unwrap_or_default().join(" ");
    let scopes = if scopes.is_empty() { String::new() } else { format!("; scopes {scopes}") };
    format!("{}{scopes}", document.authorization_servers.join(", "))
}

/// How a client becomes known to the issuer.
fn registration(report: &mut Report, issuer: &ServerMetadata) {
    let methods = issuer.code_challenge_methods_supported.as_deref().unwrap_or_default();
    if !methods.iter().any(|method| method == "S256") {
        let next = "its operator has to switch on PKCE with S256 (code_challenge_methods_supported)";
        report.fail::<()>(
            Step::Registration,
            "it does not say that it protects logins on their way back",
            next,
        );
        return;
    }
    match (&issuer.registration_endpoint, issuer.client_id_metadata_document_supported) {
        (Some(_), true) => {
            report.passed(Step::Registration, "by registration, or by a document about the client")
        }
        (Some(_), false) => report.passed(Step::Registration, "by registration"),
        (None, true) => report.passed(Step::Registration, "by a document about the client"),
        (None, false) => {
            let next =
                "ask its operator for a client id, and log in with it: contexture login --client-id ID URL";
            report.warn(Step::Registration, "it takes no registrations", next);
        }
    }
}

/// What an earlier login left.
fn stored(report: &mut Report, url: &str, status: contexture::Result<Option<Account>>) -> Option<()> {
    let login = format!("contexture login {}", quoted(url));
    let account = match status {
        Ok(Some(account)) => account,
        Ok(None) => return report.fail(Step::Login, "nobody is logged in", login),
        Err(error) => {
            return report.fail(Step::Login, error.to_string(), "the store of tokens cannot be read");
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let is_over = account.expires_at.is_some_and(|end| end <= now);
    if is_over && !account.can_refresh {
        return report.fail(Step::Login, "the login is over, and cannot be renewed by itself", login);
    }
    let scopes =
        if account.scopes.is_empty() { String::new() } else { format!(", scopes {}", account.scopes) };
    report.passed(Step::Login, format!("at {}{scopes}", account.issuer));
    Some(())
}
