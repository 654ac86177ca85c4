//! Command lines that cannot work: told before the server is asked, in words that help.

use crate::{BINARY, on_demo, run};

#[test]
fn arguments_are_checked_before_the_call_in_every_revision() {
    let cases: [(&[&str], &str); 5] = [
        (&["add"], "the argument a is missing"),
        (&["add", "a=1"], "the argument b is missing"),
        (&["add", "a=1", "b=2", "c=3"], "there is no argument c"),
        (&["add", "a=1", "b:=\"two\""], "b: \"two\" is not of type integer"),
        (&["countdown", "steps=2", "dely_ms=3"], "did you mean delay_ms?"),
    ];
    for revision in ["2024-11-05", "2026-07-28"] {
        for (words, fault) in cases {
            let failed = on_demo(&[&["call"], words, &["--revision", revision]].concat());
            assert_eq!(failed.code, Some(1), "{words:?}: {}", failed.stderr);
            assert!(failed.stderr.contains(fault), "{words:?}: {}", failed.stderr);
            assert!(failed.stderr.contains(&format!("{}(", words[0])), "the signature: {}", failed.stderr);
        }
    }
}

#[test]
fn unchecked_arguments_are_the_servers_to_refuse_and_its_reasons_are_shown() {
    for format in ["text", "json"] {
        let refused =
            on_demo(&["call", "add", "--unchecked", "--revision", "2024-11-05", "--format", format]);
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(refused.stderr.contains("the server answered with error -32602"), "{}", refused.stderr);
        assert!(refused.stderr.contains("is a required property"), "{format}: {}", refused.stderr);
    }
    let extra = on_demo(&["call", "add", "a=1", "b=2", "c=3", "--unchecked"]);
    assert_eq!(extra.stdout, "3\n", "{}", extra.stderr);
}

#[test]
fn names_that_do_not_exist_lead_to_those_that_do() {
    let cases: [(&[&str], &str); 6] = [
        (&["call", "ecko", "message=x"], "did you mean echo?"),
        (&["call", "frobnicate"], "there are echo, add"),
        (&["prompt", "greetings", "name=Ada"], "did you mean greeting?"),
        (&["prompt", "greeting"], "greeting(name, style?)"),
        (&["read", "demo://nothing"], "no resource demo://nothing"),
        (&["read", "demo://notes/zeta"], "`resources list`"),
    ];
    for era in ["legacy", "modern"] {
        for (words, help) in cases {
            let failed = on_demo(&[words, &["--era", era]].concat());
            assert_eq!(failed.code, Some(1), "{words:?}: {}", failed.stderr);
            assert!(failed.stderr.contains(help), "{era} {words:?}: {}", failed.stderr);
        }
    }
}

#[test]
fn what_a_server_misses_can_be_given() {
    for era in ["legacy", "modern"] {
        for (tool, option) in
            [(&["list_roots"][..], "--root DIR"), (&["ask_model", "question=Why?"], "--sample TEXT")]
        {
            let failed = on_demo(&[&["call"], tool, &["--era", era]].concat());
            assert_eq!(failed.code, Some(5), "{era} {tool:?}: {}", failed.stderr);
            assert!(failed.stderr.contains(option), "{era} {tool:?}: {}", failed.stderr);
            assert!(!failed.stderr.contains("declined"), "nobody was asked: {}", failed.stderr);
        }
    }
}

#[test]
fn a_command_that_is_not_there_is_no_wish_for_the_demo() {
    for arguments in [&["tools", "list", "--"][..], &["call", "echo", "message=x", "--", ""]] {
        let failed = run(arguments);
        assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""), "{arguments:?}: {}", failed.stderr);
        assert!(failed.stderr.contains("no command after `--`"), "{}", failed.stderr);
    }
    assert_eq!(run(&["tools", "list", "--", BINARY, "demo"]).code, Some(0));
}
