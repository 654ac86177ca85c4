//! Taking secrets out of what is written down, and nothing else: all other bytes stay as they were.
//!
//! A secret is what stands under a name such as `token` or `password`, what was given to the server as a variable or a
//! header, and `requestState`, which is for the server alone. Each gets a placeholder, the same one wherever it stands, so that
//! what was said again and what was answered still belong together. Names are looked at, meanings are not: a secret under another
//! name stays.

use std::collections::HashMap;

/// Shorter values are words of everyday language; to take these out would leave no text to read.
const SHORTEST: usize = 6;
/// How many different secrets are told apart.
const MOST: usize = 10_000;
const PLACEHOLDER: (&str, &str) = ("[redacted ", "]");
const STATE: &str = "requestState";

/// What names of secrets end with, in lower case and without `-` and `_`.
const ENDINGS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "privatekey",
    "secretkey",
    "accesskey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "sessionid",
];
/// What ends so and is none.
const HARMLESS: &[&str] = &["progresstoken", "pagetoken", "continuationtoken", "cancellationtoken"];

/// Whether a text stands for something that was taken out.
pub(crate) fn is_placeholder(text: &str) -> bool {
    text.strip_prefix(PLACEHOLDER.0).is_some_and(|rest| rest.ends_with(PLACEHOLDER.1))
}

/// Knows what is not to be written down.
#[derive(Debug, Default)]
pub(crate) struct Redactor {
    /// What was given to the server.
    given: Vec<String>,
    placeholders: HashMap<String, String>,
}

impl Redactor {
    /// These values are secrets wherever they stand.
    pub(crate) fn new(given: impl IntoIterator<Item = String>) -> Self {
        let mut given: Vec<String> = given.into_iter().filter(|value| value.len() >= SHORTEST).collect();
        // One may be part of another.
        given.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { given, placeholders: HashMap::new() }
    }

    /// A message that is JSON.
    pub(crate) fn message(&mut self, text: &str) -> String {
        rewrite(text, &mut |key, literal| {
            let value: String = serde_json::from_str(literal).ok()?;
            let kept = match is_secret(key) && !value.is_empty() && !is_placeholder(&value) {
                true => self.placeholder(&value),
                false => self.plain(&value),
            };
            (kept != value).then(|| serde_json::Value::from(kept).to_string())
        })
    }

    /// A header, by its name.
    pub(crate) fn header(&mut self, name: &str, value: &str) -> String {
        if is_secret(name) { self.placeholder(value) } else { self.plain(value) }
    }

    /// Any text: only what is known to be a secret goes.
    pub(crate) fn plain(&mut self, text: &str) -> String {
        let mut out = text.to_owned();
        for at in 0..self.given.len() {
            let secret = self.given[at].clone();
            let escaped = serde_json::Value::from(secret.as_str()).to_string();
            for form in [escaped.trim_matches('"'), &secret] {
                if out.contains(form) {
                    out = out.replace(form, &self.placeholder(&secret));
                }
            }
        }
        out
    }

    fn placeholder(&mut self, secret: &str) -> String {
        let (begin, end) = PLACEHOLDER;
        if self.placeholders.len() >= MOST && !self.placeholders.contains_key(secret) {
            return format!("{begin}…{end}");
        }
        let next = self.placeholders.len() + 1;
        self.placeholders.entry(secret.to_owned()).or_insert_with(|| format!("{begin}{next}{end}")).clone()
    }
}

/// Whether what is called so is not for everybody.
pub(crate) fn is_secret(name: &str) -> bool {
    if name == STATE {
        return true;
    }
    let name: String =
        name.chars().filter(|char| !matches!(char, '-' | '_')).flat_map(char::to_lowercase).collect();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
        && !HARMLESS.iter().any(|harmless| name.ends_with(harmless))
}

/// Where a scan of JSON text is.
struct Frame {
    is_object: bool,
    /// Of the member at hand; in an array, of the array.
    key: String,
    wants_key: bool,
}

/// Copies JSON text, which must be valid, and lets strings be replaced by what stands before them.
fn rewrite(text: &str, replace: &mut impl FnMut(&str, &str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut frames: Vec<Frame> = Vec::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        if char != '"' {
            step(char, &mut frames);
            out.push(char);
            rest = &rest[char.len_utf8()..];
            continue;
        }
        let (literal, after) = rest.split_at(literal_end(rest));
        rest = after;
        let replaced = match frames.last_mut() {
            Some(frame) if frame.is_object && frame.wants_key => {
                frame.key = serde_json::from_str(literal).unwrap_or_default();
                frame.wants_key = false;
                None
            }
            Some(frame) => replace(&frame.key, literal),
            None => None,
        };
        out.push_str(replaced.as_deref().unwrap_or(literal));
    }
    out
}

fn step(char: char, frames: &mut Vec<Frame>) {
    match char {
        '{' => frames.push(Frame { is_object: true, key: String::new(), wants_key: true }),
        '[' => {
            let key = frames.last().map(|frame| frame.key.clone()).unwrap_or_default();
            frames.push(Frame { is_object: false, key, wants_key: false });
        }
        '}' | ']' => drop(frames.pop()),
        ',' => {
            if let Some(frame) = frames.last_mut() {
                frame.wants_key = frame.is_object;
            }
        }
        _ => {}
    }
}

/// Where the string ends that a text begins with.
fn literal_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_everything_else_stays_byte_for_byte() {
        let mut redactor = Redactor::new(["hunter2!".to_owned()]);
        let cases = [
            (
                r#"{"a": 1.50, "token" : "abc", "x":"token"}"#,
                r#"{"a": 1.50, "token" : "[redacted 1]", "x":"token"}"#,
            ),
            (
                r#"{"API_KEY":"k\"ey","n":{"password":["p"]}}"#,
                r#"{"API_KEY":"[redacted 2]","n":{"password":["[redacted 3]"]}}"#,
            ),
            (
                r#"{"access-token":"abc","progressToken":"abc"}"#,
                r#"{"access-token":"[redacted 1]","progressToken":"abc"}"#,
            ),
            (
                r#"{"properties":{"token":{"type":"string"}},"required":["token"]}"#,
                r#"{"properties":{"token":{"type":"string"}},"required":["token"]}"#,
            ),
            (
                r#"{"requestState":"s3","text":"say hunter2! now"}"#,
                r#"{"requestState":"[redacted 4]","text":"say [redacted 5] now"}"#,
            ),
            (r#"{"maxTokens":100,"token":7,"secret":""}"#, r#"{"maxTokens":100,"token":7,"secret":""}"#),
        ];
        for (given, wanted) in cases {
            assert_eq!(redactor.message(given), wanted);
        }
        assert_eq!(redactor.header("Authorization", "Bearer abc"), "[redacted 6]");
        assert_eq!(redactor.header("mcp-method", "tools/call"), "tools/call");
    }

    #[test]
    fn what_remains_is_json_whatever_was_given() {
        let mut redactor = Redactor::new(["100000".to_owned(), "result".to_owned(), "say \"hi\"".to_owned()]);
        let message = redactor.message(r#"{"result":{"n":100000,"s":["x 100000","say \"hi\"!"]}}"#);
        assert_eq!(message, r#"{"result":{"n":100000,"s":["x [redacted 1]","[redacted 2]!"]}}"#);
    }
}
