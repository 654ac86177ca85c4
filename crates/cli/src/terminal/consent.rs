//! The person at the terminal who runs a gateway: asked where a client cannot be.
//!
//! Questions go to the terminal itself and not over standard input and output, which may be a client's. One is asked at a time;
//! what was typed before it was shown is no answer to it, and one that nobody waits for any more is taken back. A terminal that
//! belongs to another program (we are in the background, or something draws on it) is left alone, and nobody has answered.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contexture::client::ElicitAnswer;
use contexture::model::ElicitResult;
use contexture_host::consent::{Person, PersonQuestion};

use super::form::Sheet;
use super::text::safe;
use crate::options::Face;

/// Who can be asked here, if anybody. Whoever serves others who prove who they are does not decide for them.
pub(crate) fn person(face: &Face) -> Option<Arc<dyn Person>> {
    if face.protect.is_some() {
        return None;
    }
    system::person()
}

#[cfg(not(unix))]
mod system {
    use std::sync::Arc;

    use contexture_host::consent::Person;

    pub(super) fn person() -> Option<Arc<dyn Person>> {
        None
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{File, OpenOptions};
    use std::io::{self, BufReader, Read};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use contexture::model::ElicitResult;
    use contexture::server::BoxFuture;
    use contexture_host::consent::{Person, PersonQuestion};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{LocalModes, QueueSelector, tcflush, tcgetattr, tcgetpgrp};
    use tokio::sync::Mutex;

    use super::{Sheet, show};

    /// What every line of ours begins with.
    const MARGIN: &str = "contexture | ";
    /// How often we look whether anybody still waits for the answer.
    const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

    pub(super) fn person() -> Option<Arc<dyn Person>> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        Some(Arc::new(AtTerminal { tty: Arc::new(Mutex::new(tty)) }))
    }

    struct AtTerminal {
        /// Held while a question is asked.
        tty: Arc<Mutex<File>>,
    }

    impl Person for AtTerminal {
        fn ask(&self, question: PersonQuestion) -> BoxFuture<ElicitResult> {
            let tty = Arc::clone(&self.tty);
            Box::pin(async move {
                let tty = tty.lock_owned().await;
                let waiting = Waiting(Arc::new(AtomicBool::new(true)));
                let waited_for = Arc::clone(&waiting.0);
                // A thread of its own may wait for the keyboard.
                let asked = tokio::task::spawn_blocking(move || {
                    if !is_ours(&tty) {
                        return Ok(ElicitResult::cancel());
                    }
                    // What was typed before is no answer.
                    tcflush(&*tty, QueueSelector::IFlush)?;
                    let mut keyboard = BufReader::new(Keyboard { tty: &tty, waited_for: &waited_for });
                    let mut out: &File = &tty;
                    let mut sheet = Sheet { input: &mut keyboard, out: &mut out, margin: MARGIN };
                    show(&question, &mut sheet, &waited_for)
                });
                match asked.await {
                    Ok(Ok(answer)) => answer,
                    _ => ElicitResult::cancel(),
                }
            })
        }
    }

    /// Says so when nobody waits for an answer any more.
    struct Waiting(Arc<AtomicBool>);

    impl Drop for Waiting {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Relaxed);
        }
    }

    /// What is typed, for as long as the question is of interest and the terminal is ours.
    struct Keyboard<'a> {
        tty: &'a File,
        waited_for: &'a AtomicBool,
    }

    impl Read for Keyboard<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            loop {
                // To read from a terminal in the background would stop the whole process.
                if !self.waited_for.load(Ordering::Relaxed) || !is_ours(self.tty) {
                    return Ok(0);
                }
                let mut fds = [PollFd::new(self.tty, PollFlags::IN)];
                match poll(&mut fds, Some(&GLANCE)) {
                    Ok(0) | Err(rustix::io::Errno::INTR) => {}
                    Ok(_) => return self.tty.read(buffer),
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    /// Whether lines that are typed now are meant for us.
    fn is_ours(tty: &File) -> bool {
        let in_front = tcgetpgrp(tty).is_ok_and(|front| front == rustix::process::getpgrp());
        in_front && tcgetattr(tty).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON))
    }
}

/// Shows a question and reads the answer. Whoever is asked is told when nobody waits for their answer any more.
fn show(
    question: &PersonQuestion,
    sheet: &mut Sheet<'_>,
    waited_for: &AtomicBool,
) -> io::Result<ElicitResult> {
    writeln!(sheet.out)?;
    for line in safe(&question.message).lines() {
        writeln!(sheet.out, "{}{line}", sheet.margin)?;
    }
    let answer = sheet.fill(&question.form)?;
    if !waited_for.load(Ordering::Relaxed) {
        writeln!(sheet.out, "{}taken back: nobody waits for an answer any more", sheet.margin)?;
        return Ok(ElicitResult::cancel());
    }
    Ok(match answer {
        ElicitAnswer::Accept(answers) => ElicitResult::accept(answers),
        ElicitAnswer::Decline => ElicitResult::decline(),
        _ => ElicitResult::cancel(),
    })
}

#[cfg(test)]
mod tests {
    use contexture::model::{ElicitSchema, EnumSchema, StringSchema};
    use contexture_host::consent::Answer;

    use super::*;

    fn asked(form: ElicitSchema, typed: &str) -> (ElicitResult, String) {
        let message = "Allow \u{1b}[2J a call?\nArguments:\n  | {}".to_owned();
        let question = PersonQuestion { server: "files".to_owned(), message, form };
        let mut shown = Vec::new();
        let mut sheet = Sheet { input: &mut typed.as_bytes(), out: &mut shown, margin: "contexture | " };
        let waited_for = AtomicBool::new(true);
        let answer = show(&question, &mut sheet, &waited_for).expect("memory does not fail");
        (answer, String::from_utf8(shown).expect("text"))
    }

    fn choice() -> ElicitSchema {
        let choices = [("once", "Allow once"), ("always", "Always"), ("deny", "Deny")];
        ElicitSchema::new().required("decision", EnumSchema::new(choices))
    }

    // covers: TOOLS-HUMAN-LOOP, SEC-REVIEW-UI, ELIC-UI-DECLINE
    #[test]
    fn a_choice_is_made_by_number_or_word_and_never_by_accident() {
        let cases = [
            ("1\n", Answer::Once),
            ("\n\n 2 \n", Answer::Always),
            ("always\n", Answer::Always),
            ("yes\n0\n4\n3\n", Answer::Deny),
            ("", Answer::Dismissed),
            ("y\n", Answer::Dismissed),
        ];
        for (typed, wanted) in cases {
            let (answer, shown) = asked(choice(), typed);
            assert_eq!(Answer::from(&answer), wanted, "{typed:?}: {shown}");
            assert!(!shown.contains('\u{1b}'), "{shown}");
            assert!(
                shown.lines().skip(1).all(|line| line.is_empty() || line.starts_with("contexture | ")),
                "{shown}"
            );
            assert!(shown.contains("1  Allow once") && shown.contains("3  Deny"), "{shown}");
        }
    }

    #[test]
    fn a_question_that_nobody_waits_for_is_taken_back_in_words() {
        let question =
            PersonQuestion { server: "files".to_owned(), message: "Allow it?".to_owned(), form: choice() };
        let mut shown = Vec::new();
        let mut sheet = Sheet { input: &mut "".as_bytes(), out: &mut shown, margin: "contexture | " };
        let answer = show(&question, &mut sheet, &AtomicBool::new(false)).expect("memory does not fail");
        assert_eq!(Answer::from(&answer), Answer::Dismissed);
        let shown = String::from_utf8(shown).expect("text");
        assert!(
            shown.lines().last().is_some_and(|line| line.starts_with("contexture | taken back")),
            "{shown}"
        );
    }

    // covers: ELIC-UI-REVIEW
    #[test]
    fn what_can_be_edited_is_a_form() {
        let form = || choice().optional("text", StringSchema::new().default_value("as it was"));
        let (answer, shown) = asked(form(), "once\nanother\ny\n");
        assert_eq!(Answer::from(&answer), Answer::Once);
        assert_eq!(answer.content.expect("answers")["text"], "another".into());
        assert!(shown.contains("[as it was]"), "{shown}");
        assert_eq!(Answer::from(&asked(form(), "once\nanother\nn\n").0), Answer::Deny);
    }
}
