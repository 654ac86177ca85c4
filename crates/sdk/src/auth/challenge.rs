//! `WWW-Authenticate`, read and written (RFC 9110, section 11).
//!
//! Read by its grammar and within bounds: a challenge that is not well-formed is left out as a whole, because a
//! parameter that was guessed may be somebody else's. What a challenge means is not decided here.

use std::fmt;

/// Bytes of one header value that are read; a longer one is left out.
const BYTES: usize = 16 * 1024;
/// Challenges in one answer.
const MOST: usize = 16;
/// Parameters of one challenge.
const PARAMS: usize = 32;

/// What a server wants to be shown, and by which scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// As it was written.
    pub(crate) scheme: String,
    /// Names are lower case; values without quotes.
    params: Vec<(String, String)>,
}

impl Challenge {
    /// All well-formed challenges, in order, from the values of all header lines.
    pub(crate) fn parse_all<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let mut found = Vec::new();
        for value in values {
            if value.len() <= BYTES {
                Reader { text: value, at: 0 }.challenges(&mut found);
            }
        }
        found
    }

    /// A parameter, unless it comes twice.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.params.iter().filter(|(known, _)| known == name);
        let first = values.next()?;
        values.next().is_none().then_some(first.1.as_str())
    }

    /// A token is wanted; the document at this address says where it comes from.
    #[cfg(any(test, feature = "http-server"))]
    pub(crate) fn bearer(resource_metadata: &str) -> Self {
        Self { scheme: "Bearer".into(), params: Vec::new() }.with("resource_metadata", resource_metadata)
    }

    /// With another parameter.
    #[cfg(any(test, feature = "http-server"))]
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.params.push((name.to_ascii_lowercase(), value.into()));
        self
    }

    fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }
}

/// The challenge that an OAuth token answers: Bearer before `DPoP`.
pub(crate) fn bearer_of(challenges: &[Challenge]) -> Option<&Challenge> {
    let first = |scheme| challenges.iter().find(|challenge| challenge.is(scheme));
    first("Bearer").or_else(|| first("DPoP"))
}

/// As a header value. What no header can hold becomes a question mark.
impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        for (index, (name, value)) in self.params.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            write!(f, "{name}=\"")?;
            for char in value.chars() {
                match char {
                    '"' | '\\' => write!(f, "\\{char}")?,
                    ' '..='~' => write!(f, "{char}")?,
                    _ => f.write_str("?")?,
                }
            }
            f.write_str("\"")?;
        }
        Ok(())
    }
}

/// The text is not well-formed from here on.
struct Broken;

/// One header value.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Adds every challenge up to the first that is broken.
    fn challenges(&mut self, found: &mut Vec<Challenge>) {
        self.skip(|byte| is_space(byte) || byte == b',');
        while self.at < self.text.len() && found.len() < MOST {
            match self.challenge() {
                Ok(challenge) => found.push(challenge),
                Err(Broken) => return,
            }
        }
    }

    /// A scheme, and what follows up to the next scheme or the end.
    fn challenge(&mut self) -> Result<Challenge, Broken> {
        let scheme = self.token()?.to_owned();
        let mut challenge = Challenge { scheme, params: Vec::new() };
        let spaces = self.skip(is_space);
        if spaces > 0 && self.skip_token68() {
            return self.separated().map(|_| challenge);
        }
        // `Scheme, name=value` is allowed too: an empty element of the list of parameters.
        let listed = spaces == 0 || matches!(self.peek(), None | Some(b','));
        if listed && !self.separated()? {
            return Ok(challenge);
        }
        loop {
            match self.param()? {
                Some(param) if challenge.params.len() < PARAMS => challenge.params.push(param),
                // Another scheme, behind a comma.
                None if listed || !challenge.params.is_empty() => return Ok(challenge),
                _ => return Err(Broken),
            }
            if !self.separated()? {
                return Ok(challenge);
            }
        }
    }

    /// The next parameter; none if a scheme stands here.
    fn param(&mut self) -> Result<Option<(String, String)>, Broken> {
        let start = self.at;
        let name = self.token()?;
        self.skip(is_space);
        if self.peek() != Some(b'=') {
            self.at = start;
            return Ok(None);
        }
        self.at += 1;
        self.skip(is_space);
        let value =
            if self.peek() == Some(b'"') { self.quoted()? } else { self.token().map(str::to_owned)? };
        Ok(Some((name.to_ascii_lowercase(), value)))
    }

    /// Behind an element of a list: whether another one comes.
    fn separated(&mut self) -> Result<bool, Broken> {
        self.skip(is_space);
        match self.peek() {
            None => return Ok(false),
            Some(b',') => {}
            Some(_) => return Err(Broken),
        }
        self.skip(|byte| is_space(byte) || byte == b',');
        Ok(self.at < self.text.len())
    }

    /// Passes over credentials in one piece, which no scheme of ours has.
    fn skip_token68(&mut self) -> bool {
        let start = self.at;
        let length = self.skip(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte));
        self.skip(|byte| byte == b'=');
        let end = self.at;
        self.skip(is_space);
        if length > 0 && matches!(self.peek(), None | Some(b',')) {
            self.at = end;
            return true;
        }
        self.at = start;
        false
    }

    fn token(&mut self) -> Result<&'a str, Broken> {
        let start = self.at;
        match self.skip(is_token) {
            0 => Err(Broken),
            _ => Ok(&self.text[start..self.at]),
        }
    }

    fn quoted(&mut self) -> Result<String, Broken> {
        let mut value = String::new();
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((offset, char)) = chars.next() {
            match char {
                '"' => {
                    self.at += 1 + offset + 1;
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, escaped)) if !escaped.is_control() => value.push(escaped),
                    _ => return Err(Broken),
                },
                char if char.is_control() && char != '\t' => return Err(Broken),
                char => value.push(char),
            }
        }
        Err(Broken)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes over what fits; how many bytes that were. Only ASCII fits, so that no character is split.
    fn skip(&mut self, fits: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().take_while(|byte| fits(**byte)).count();
        self.at += length;
        length
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The `resource_metadata` that a client would use.
    fn named(values: &[&str]) -> Option<String> {
        let challenges = Challenge::parse_all(values.iter().copied());
        bearer_of(&challenges)?.get("resource_metadata").map(str::to_owned)
    }

    // covers: AUTH-CLIENT-WWW-AUTH-PARSE
    #[test]
    fn the_right_parameter_is_found() {
        for (values, expected) in [
            (&[r#"Bearer resource_metadata="https://h/m""#][..], "https://h/m"),
            (&[r#"bearer RESOURCE_METADATA = "https://h/m""#], "https://h/m"),
            (&["Bearer resource_metadata=plain"], "plain"),
            (&["Bearer , resource_metadata=a"], "a"),
            (&[r#"Basic realm="x, y", Bearer realm="a, b=c", resource_metadata="m""#], "m"),
            (&[r#"Negotiate, Bearer resource_metadata="m", Digest nonce="n""#], "m"),
            (&["Negotiate YWJj==", r#"Bearer error="e", resource_metadata="m""#], "m"),
            (&["Negotiate YWJj==, Bearer resource_metadata=m"], "m"),
            (&[r#"Bearer xresource_metadata="evil", resource_metadata="m""#], "m"),
            (&[r#"Bearer realm="resource_metadata=\"evil\"", resource_metadata="m""#], "m"),
            (&[r#"Bearer resource_metadata="a\\b\"c""#], r#"a\b"c"#),
            (&[r#",, Bearer realm="",, resource_metadata="m",,"#], "m"),
            (&["DPoP resource_metadata=d, Bearer resource_metadata=b"], "b"),
            (&[r#"DPoP algs="ES256", resource_metadata=d"#], "d"),
            (&["Bearer resource_metadata=first", "Bearer resource_metadata=second"], "first"),
            (&[r#"Basic realm="open"#, "Bearer resource_metadata=m"], "m"),
            (&["Bearer realm=\"ünïcode\", resource_metadata=m"], "m"),
        ] {
            assert_eq!(named(values).as_deref(), Some(expected), "{values:?}");
        }
    }

    // covers: AUTH-CLIENT-WWW-AUTH-PARSE
    #[test]
    fn a_parameter_is_never_guessed() {
        for value in [
            "",
            " , ,",
            "Bearer",
            "Bearer ",
            r#"Bearer xresource_metadata="evil""#,
            r#"Bearer resource_metadata="a", resource_metadata="b""#,
            r#"Bearer resource_metadata="a", Resource_Metadata="a""#,
            r#"Bearer realm="x, resource_metadata="https://evil""#,
            r#"Bearer resource_metadata="open"#,
            r#"Bearer resource_metadata="open\"#,
            r#"Bearer resource_metadata="open\""#,
            r#"Bearer resource_metadata="a" junk"#,
            r#"Bearer resource_metadata="a" scope="b""#,
            "Bearer resource_metadata=",
            "Bearer resource_metadata==",
            "Bearer resource_metadata=https://h/m",
            "Bearer resource_metadata=\"a\u{0}b\"",
            "Bearer resource_metadata=\"a\u{7f}\"",
            r#"Basic resource_metadata="other scheme""#,
            r#"NotBearer resource_metadata="m""#,
            r#"resource_metadata="m""#,
            r#"="m""#,
            r#""Bearer" resource_metadata="m""#,
            "ünï resource_metadata=m",
            "Digest x Bearer resource_metadata=m",
            "Bearer ü=m, resource_metadata=m",
        ] {
            assert_eq!(named(&[value]), None, "{value:?}");
        }
    }

    #[test]
    fn a_broken_challenge_does_not_hide_those_before_it() {
        let challenges = Challenge::parse_all([r#"Bearer scope="a b", Basic realm="x"#]);
        // The end of the first is known only where the second begins.
        assert_eq!(challenges.len(), 1);
        assert_eq!(challenges[0].get("scope"), Some("a b"));
    }

    #[test]
    fn long_headers_cost_little() {
        let long = format!("Bearer realm=\"{}\", resource_metadata=m", "x".repeat(64 * 1024));
        assert_eq!(named(&[&long]), None);
        assert_eq!(named(&[&long, "Bearer resource_metadata=m"]).as_deref(), Some("m"));
        let many = "Bearer a=b, ".repeat(1000);
        assert_eq!(Challenge::parse_all([many.as_str(), "Bearer c=d"]).len(), MOST);
        let params = format!("Bearer {}resource_metadata=m", "a=b,".repeat(PARAMS));
        assert_eq!(named(&[&params]), None);
    }

    #[test]
    fn nothing_makes_it_panic() {
        let pieces = ["Bearer", " ", ",", "=", "\"", "\\", "a", "é", "\t", "\u{0}", "token68=="];
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
            }
            Challenge::parse_all([text.as_str()]);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let challenge = Challenge::bearer("https://h/.well-known/x")
            .with("scope", "a b")
            .with("error_description", "say \"no\" \\ twice");
        let text = challenge.to_string();
        assert_eq!(
            text,
            r#"Bearer resource_metadata="https://h/.well-known/x", scope="a b", error_description="say \"no\" \\ twice""#
        );
        assert_eq!(Challenge::parse_all([text.as_str()]), [challenge]);
    }

    #[test]
    fn no_header_is_broken_by_a_value() {
        let text = Challenge::bearer("m").with("error", "a\r\nSet-Cookie: b=ü").to_string();
        assert_eq!(text, r#"Bearer resource_metadata="m", error="a??Set-Cookie: b=?""#);
    }
}
