//! A secret that somebody types, or a program writes to standard input. It is never shown.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use contexture::auth::Secret;

/// Nobody's secret is longer.
const MOST: usize = 64 * 1024;

/// Asks for a secret; a line of standard input, if that is no terminal. `None` if there is none.
pub(crate) fn ask(question: &str) -> io::Result<Option<Secret>> {
    if io::stdin().is_terminal() {
        let mut out = io::stderr();
        write!(out, "{question} (it is not shown): ")?;
        out.flush()?;
        let typed = system::typed();
        writeln!(out)?;
        return typed;
    }
    let mut line = String::new();
    io::Read::take(io::stdin().lock(), MOST as u64 + 1).read_line(&mut line)?;
    Ok(some(line.trim_end_matches(['\r', '\n'])))
}

fn some(text: &str) -> Option<Secret> {
    (!text.is_empty() && text.len() <= MOST).then(|| Secret::new(text))
}

#[cfg(unix)]
mod system {
    use std::io::{self, Read as _};

    use contexture::auth::Secret;
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// The terminal as it was, which it is again whatever happens here.
    struct Quiet(Termios);

    impl Quiet {
        /// Keys come one by one, are not shown, and do not end the process: that would leave the terminal quiet.
        fn begin() -> io::Result<Self> {
            let before = tcgetattr(io::stdin())?;
            let mut quiet = before.clone();
            quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
            tcsetattr(io::stdin(), OptionalActions::Now, &quiet)?;
            Ok(Self(before))
        }
    }

    impl Drop for Quiet {
        fn drop(&mut self) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }

    pub(super) fn typed() -> io::Result<Option<Secret>> {
        const INTERRUPT: u8 = 3;
        const END: u8 = 4;
        const KILL: u8 = 21;
        let _quiet = Quiet::begin()?;
        let (mut bytes, mut key) = (Vec::new(), [0]);
        while bytes.len() <= super::MOST && io::stdin().lock().read(&mut key)? == 1 {
            match key[0] {
                b'\r' | b'\n' | END => break,
                INTERRUPT => return Ok(None),
                KILL => bytes.clear(),
                // A character may have several bytes.
                8 | 127 => while bytes.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
                byte => bytes.push(byte),
            }
        }
        let text =
            String::from_utf8(bytes).map_err(|_| io::Error::other("what was typed is no text in UTF-8"))?;
        Ok(super::some(&text))
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;

    use contexture::auth::Secret;

    /// What is typed would be seen.
    pub(super) fn typed() -> io::Result<Option<Secret>> {
        Err(io::Error::other(
            "a terminal that shows what is typed is not asked: write the secret to standard input",
        ))
    }
}
