//! The same in a terminal, as people see it.

use super::screen::Screen;

#[test]
fn a_session_is_recorded_replayed_served_and_tested_by_hand() {
    let screen = Screen::open();
    screen.run("contexture call demo add a=1 b=2 --record sum.jsonl");
    assert_eq!(screen.ended(), 0);
    screen.run("contexture replay sum.jsonl demo");
    screen.shows("no difference");
    assert_eq!(screen.ended(), 0);
    screen.run("contexture call add a=1 b=2 -- contexture mock sum.jsonl");
    assert_eq!(screen.ended(), 0);
    screen.run("contexture test --from sum.jsonl > sum.jsonc && contexture test sum.jsonc demo");
    screen.shows("1 passed, 0 failed");
    assert_eq!(screen.ended(), 0);
    screen.run("sed s/:3/:4/ sum.jsonc > wrong.jsonc; sed 's/\": 3/\": 4/' -i wrong.jsonc; contexture test wrong.jsonc demo");
    screen.shows("FAIL");
    screen.shows("0 passed, 1 failed");
    assert_eq!(screen.ended(), 5);
    screen.run("contexture diff demo --revisions 2026-07-28,2024-11-05");
    screen.shows("What a client would miss");
    assert_eq!(screen.ended(), 5);
    screen.run("contexture record demo --to kept.jsonl");
    screen.shows("recording to kept.jsonl");
    screen.keys(&["C-c"]);
    assert_eq!(screen.ended(), 0);
}
