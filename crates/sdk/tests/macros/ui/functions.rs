//! Functions that can be no handlers.

use contexture::{prompt, tool};

#[tool]
async fn generic<T: Send>(value: T) {}

#[tool]
async fn clause(value: String)
where
    String: Send,
{
}

#[tool]
async unsafe fn dangerous() {}

#[prompt]
extern "C" fn foreign() {}

#[tool]
const fn constant() {}

#[tool]
struct NoFunction;

#[tool]
impl NoFunction {}

fn main() {}
