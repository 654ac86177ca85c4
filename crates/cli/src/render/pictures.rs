//! Pictures in terminals that can show them: by kitty's protocol, or by iTerm2's.
//!
//! Which one it is, the environment says; the terminal is not asked, because its answer would come among what the person
//! types. Inside a multiplexer there are none: it would swallow or garble them. Bytes are encoded here anew, so that nothing a
//! server wrote stands between the escapes.

use std::io::IsTerminal as _;

use contexture::model::Blob;

/// Larger ones are for a viewer.
const MOST: usize = 8 * 1024 * 1024;
/// What kitty takes at a time.
const CHUNK: usize = 4096;

/// How pictures are shown, if at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pictures {
    None,
    Kitty,
    Iterm,
}

impl Pictures {
    pub(super) fn of_environment() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::None;
        }
        Self::of(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let program = variable("TERM_PROGRAM").unwrap_or_default();
        let term = variable("TERM").unwrap_or_default();
        if variable("TMUX").is_some() || variable("STY").is_some() || term == "dumb" {
            return Self::None;
        }
        if variable("KITTY_WINDOW_ID").is_some() || term.contains("kitty") || program == "ghostty" {
            return Self::Kitty;
        }
        let is_iterm = program == "iTerm.app" || variable("LC_TERMINAL").is_some_and(|name| name == "iTerm2");
        if is_iterm || program == "WezTerm" { Self::Iterm } else { Self::None }
    }

    /// A picture as the terminal wants it. Nothing, if this one cannot be shown.
    pub(super) fn draw(self, bytes: &[u8]) -> Option<String> {
        let kind = Kind::of(bytes).filter(|_| bytes.len() <= MOST)?;
        match self {
            Self::None => None,
            // PNG is all that it takes as it is.
            Self::Kitty => (kind == Kind::Png).then(|| kitty(&Blob::encode(bytes))),
            Self::Iterm => Some(iterm(&Blob::encode(bytes), bytes.len())),
        }
    }
}

/// By the first bytes; what the server calls it proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Png,
    Other,
}

impl Kind {
    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] | [b'G', b'I', b'F', b'8', ..] => Some(Self::Other),
            _ => None,
        }
    }
}

/// In chunks, without an answer of the terminal's.
fn kitty(data: &Blob) -> String {
    let data = data.as_str();
    let mut out = String::with_capacity(data.len() + data.len() / 100 + 64);
    let mut rest = data;
    let mut head = "a=T,f=100,q=2,";
    loop {
        let (chunk, more) = rest.split_at(CHUNK.min(rest.len()));
        out += &format!("\u{1b}_G{head}m={};{chunk}\u{1b}\\", u8::from(!more.is_empty()));
        if more.is_empty() {
            return out;
        }
        (rest, head) = (more, "");
    }
}

fn iterm(data: &Blob, size: usize) -> String {
    format!("\u{1b}]1337;File=inline=1;size={size}:{}\u{7}", data.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    #[test]
    fn the_environment_says_which_protocol_it_is() {
        let of = |set: &[(&str, &str)]| {
            Pictures::of(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[("TERM", "xterm-kitty")]), Pictures::Kitty);
        assert_eq!(of(&[("KITTY_WINDOW_ID", "1"), ("TMUX", "/tmp/x")]), Pictures::None);
        assert_eq!(of(&[("TERM_PROGRAM", "iTerm.app")]), Pictures::Iterm);
        assert_eq!(of(&[("TERM", "xterm-256color")]), Pictures::None);
    }

    #[test]
    fn only_pictures_are_drawn_and_in_pieces() {
        assert_eq!(Pictures::Kitty.draw(b"\x1b]0;title\x07"), None);
        assert_eq!(Pictures::Kitty.draw(b"\xff\xd8\xff"), None);
        assert_eq!(Pictures::None.draw(PNG), None);
        assert!(
            Pictures::Iterm
                .draw(PNG)
                .is_some_and(|text| text.starts_with("\u{1b}]1337;File=inline=1;size=12:"))
        );
        let large = [PNG, &vec![0; 10_000]].concat();
        let drawn = Pictures::Kitty.draw(&large).expect("a picture");
        assert_eq!((drawn.matches("\u{1b}_G").count(), drawn.matches("m=0;").count()), (4, 1));
    }
}
