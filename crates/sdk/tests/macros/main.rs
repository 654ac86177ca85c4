//! The attribute macros, seen from the other end of the wire; the examples; and what wrong code is told.

mod block;
mod examples;
mod functions;
mod strict;
mod wire;

/// Every wrong use has a message that says what to do, at the place where it is wrong. After a change,
/// `TRYBUILD=overwrite` writes the new messages.
#[test]
fn wrong_code_is_told_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/macros/ui/*.rs");
}
