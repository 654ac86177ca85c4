//! Narrow terminals, and those that know no colours.

use crate::screen::Screen;

const ESCAPE: char = '\u{1b}';

#[test]
fn forty_columns_are_enough() {
    let screen = Screen::sized(40, 30);
    for line in ["contexture bench demo echo message=hi -n 20 2>said", "contexture </dev/null"] {
        screen.clear();
        screen.run(line);
        assert_eq!(screen.ended(), 0, "{line}");
        let text = screen.text();
        let long: Vec<&str> = text.lines().skip(1).filter(|line| line.chars().count() > 40).collect();
        // A word that is too long stays whole: it may be copied.
        let broken: Vec<_> = long.iter().filter(|line| line.trim().contains(' ')).collect();
        assert!(broken.is_empty(), "{line}: {broken:#?}\n{text}");
    }
}

#[test]
fn colours_are_for_those_who_want_them() {
    let screen = Screen::open();
    let coloured = |line: &str| {
        screen.clear();
        screen.run(line);
        assert_eq!(screen.ended(), 0, "{line}");
        let text = screen.coloured();
        text.contains(ESCAPE)
    };
    let line = "contexture bench demo echo message=hi -n 20";
    assert!(coloured(line), "they are there at all");
    assert!(!coloured(&format!("NO_COLOR=1 {line}")), "{}", screen.coloured());
    assert!(!coloured(&format!("TERM=dumb {line}")), "{}", screen.coloured());
}

/// Not even those that move the cursor: all that was written is kept by `script`.
#[test]
fn a_dumb_terminal_gets_text_and_nothing_else() {
    let screen = Screen::open();
    for line in [
        "contexture tools list demo",
        "contexture call demo countdown steps=3",
        "contexture bench demo echo message=hi -n 20",
        "contexture </dev/null",
        "contexture --help",
        "contexture call demo nothing",
    ] {
        screen.run(&format!("TERM=dumb script -qc '{line}' written; tail -n +2 written >text"));
        screen.ended();
        let text = std::fs::read_to_string(screen.home().join("text")).expect("text");
        assert!(!text.is_empty() && !text.contains(ESCAPE), "{line}: {text:?}");
    }
}
