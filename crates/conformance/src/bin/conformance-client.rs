//! `conformance-client URL`: plays the part that the suite names in its environment variables, and ends.
//!
//! It ends with 0 if the server did its part, 1 if not, and 2 if there is no such part.

use std::process::ExitCode;

use contexture_conformance::client::{Failure, Part};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().nth(1) else {
        eprintln!("usage: conformance-client URL, with the variables that the conformance suite sets");
        return ExitCode::from(2);
    };
    match play(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("conformance-client: {failure}");
            ExitCode::from(if matches!(failure, Failure::Unknown(_)) { 2 } else { 1 })
        }
    }
}

async fn play(url: &str) -> Result<(), Failure> {
    let part = Part::read(|name| std::env::var(name).ok())?;
    let client = part.client()?.connect(url).await?;
    part.play(&client).await?;
    Ok(())
}
