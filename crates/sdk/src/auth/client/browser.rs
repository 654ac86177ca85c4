//! Showing a page to a person in their own browser.
//!
//! Only https, and http on this machine, are opened: other schemes start other programs. The address is one
//! argument of one program, never a line for a shell.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};

use reqwest::Url;

use crate::transport::http::is_loopback;
use crate::{Error, Result};

/// Opens pages in the person's browser.
#[derive(Debug, Clone)]
pub struct Browser {
    program: OsString,
    /// What stands before the address.
    arguments: &'static [&'static str],
}

impl Default for Browser {
    fn default() -> Self {
        Self::new()
    }
}

impl Browser {
    /// The program that `BROWSER` names, if it names one and nothing else, or the platform's own way.
    pub fn new() -> Self {
        match std::env::var_os("BROWSER").filter(|program| is_one_program(program)) {
            Some(program) => Self::program(program),
            None => Self::of_platform(),
        }
    }

    /// This program, which gets the address as its only argument.
    pub fn program(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), arguments: &[] }
    }

    fn of_platform() -> Self {
        if cfg!(windows) {
            // `start` would be a word of the shell.
            Self { program: "rundll32".into(), arguments: &["url.dll,FileProtocolHandler"] }
        } else if cfg!(target_os = "macos") {
            Self::program("open")
        } else {
            Self::program("xdg-open")
        }
    }

    /// Opens this address, and does not wait for what comes of it.
    pub fn open(&self, url: &str) -> Result<()> {
        let url = visitable(url)?;
        let mut command = Command::new(&self.program);
        command.args(self.arguments).arg(url.as_str());
        // It outlives us, and our output may be a protocol.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| {
            let program = self.program.to_string_lossy();
            Error::Misuse(format!(
                "no browser could be opened ({program}: {error}): visit the address yourself, or name a \
                 program in BROWSER"
            ))
        })?;
        // Whoever starts a process has to see it end. Without a thread it is the system's after us.
        let _ = std::thread::Builder::new().name("browser".into()).spawn(move || child.wait());
        Ok(())
    }
}

/// `BROWSER` may hold a list or a line for a shell; those are not ours to take apart.
fn is_one_program(text: &OsStr) -> bool {
    let text = text.to_string_lossy();
    let strange =
        |char: char| char.is_whitespace() || char.is_control() || "%;&|<>$`\"'*?(){}[]!#~".contains(char);
    let is_list = !cfg!(windows) && text.contains(':');
    !text.is_empty() && !text.starts_with('-') && !is_list && !text.contains(strange)
}

/// An address that may be shown to a person: https, or http on this machine, without a name or password, and
/// spelled without anything that some program might read differently.
fn visitable(text: &str) -> Result<Url> {
    let refused = |why: &str| Error::PeerMisbehaved(format!("an address that is not opened: {why}"));
    if text.chars().any(|char| char.is_control() || char.is_whitespace() || "\"'\\`<>^{|}".contains(char)) {
        return Err(refused("it has characters that addresses do not have"));
    }
    let url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("it has a name or a password in it"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(refused("http leaves this machine without encryption; it has to be https")),
        _ => Err(refused("it has to be https")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row F04 of the threats: what somebody meant for a shell is left alone.
    #[test]
    fn a_variable_names_one_program_or_nothing() {
        for one in ["firefox", "/usr/bin/firefox", "./open-it", "google-chrome-stable"] {
            assert!(is_one_program(OsStr::new(one)), "{one}");
        }
        for other in [
            "",
            "firefox --new-window",
            "firefox %s",
            "%s",
            "firefox:chromium",
            "sh -c 'curl evil'",
            "firefox;id",
            "$(id)",
            "`id`",
            "-version",
            "fire\nfox",
            "\"firefox\"",
        ] {
            assert!(!is_one_program(OsStr::new(other)), "{other:?}");
        }
    }
}
