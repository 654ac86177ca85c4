//! Whose login it is, and which client uses it.
//!
//! A person is an issuer and a subject, proven. What a client says about itself is shown to people and decides nothing.

use contexture::{Context, Principal};
use ring::digest::{SHA256, digest};
use serde::Deserialize;

/// Characters of what somebody else wrote that are shown.
const SHOWN: usize = 80;

/// How a person's tokens are filed: no two people are spelled the same.
pub(super) fn account(principal: &Principal) -> String {
    let (issuer, subject) = (principal.issuer(), principal.subject());
    format!("{}:{issuer}{}:{subject}", issuer.len(), subject.len())
}

/// A name that tells nothing about what it stands for.
pub(super) fn filed(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A program that calls in somebody's name.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// As the issuer of its token knows it; empty where the token does not say.
    pub(super) id: String,
    /// What it says about itself.
    pub(super) says: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    client_id: Option<String>,
    azp: Option<String>,
}

impl Caller {
    pub(super) fn of(context: &Context) -> Self {
        let says = context.peer().info.as_ref().map(|info| shown(&info.name));
        Self { id: client_id(context.principal()), says }
    }
}

/// Which client the token was issued to (RFC 9068), in whose hands it is.
pub(super) fn client_id(principal: &Principal) -> String {
    let claims = principal.claims::<Claims>().and_then(Result::ok);
    claims.and_then(|claims| claims.client_id.or(claims.azp)).unwrap_or_default()
}

/// Short, on one line, and read in the direction in which it is written.
pub(super) fn shown(text: &str) -> String {
    let plain = |char: &char| !char.is_control() && !turns_text(*char);
    let short: String = text.chars().filter(plain).take(SHOWN).collect();
    if short.trim().is_empty() { "(no name)".to_owned() } else { short }
}

/// Invisible characters that turn text around, split it or hide in it.
fn turns_text(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_people_are_filed_alike() {
        let people = [("a", "b:c"), ("a:b", "c"), ("", "ab"), ("ab", ""), ("", "local"), ("", "anonymous")];
        let accounts: std::collections::BTreeSet<_> =
            people.iter().map(|(issuer, subject)| account(&Principal::new(*issuer, *subject))).collect();
        assert_eq!(accounts.len(), people.len());
    }

    #[test]
    fn what_others_say_stays_on_its_line() {
        assert_eq!(shown("Good\u{202e}live\u{200b}\r\n"), "Goodlive");
        assert_eq!(shown("\u{200b}"), "(no name)");
        assert_eq!(shown(&"x".repeat(1000)).len(), SHOWN);
    }
}
