//! The limit of a client over stdio: blocking reads and writes on a child's pipes, one write for each batch of
//! answers. It counts on a server that answers in order, as the bare one does.

use canned::{Load, Outcome, clock};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts the server, makes the calls, and ends the server by closing its input.
pub fn run(load: &Load) -> Outcome {
    let mut child =
        Command::new(&load.target).arg("stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut pipes = Pipes::of(&mut child)?;
    pipes.open(load)?;
    clock::run(load.count, |count| pipes.make(load, count))?;
    drop(pipes);
    child.wait()?;
    Ok(())
}

struct Pipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    batch: Vec<u8>,
    /// The id of the last request.
    last: usize,
}

impl Pipes {
    fn of(child: &mut Child) -> Result<Self, &'static str> {
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or("no pipes")?;
        let output = BufReader::with_capacity(1 << 16, output);
        Ok(Self { input, output, line: Vec::new(), batch: Vec::new(), last: 1 })
    }

    fn open(&mut self, load: &Load) -> Outcome {
        self.put(load.calls.hello());
        self.flush()?;
        load.calls.check_hello(self.read()?)?;
        if let Some(opening) = load.calls.opening() {
            self.put(opening);
            self.flush()?;
        }
        Ok(())
    }

    /// As many calls as the window is wide, and another for each answer until all are made.
    fn make(&mut self, load: &Load, count: usize) -> Outcome<Vec<Duration>> {
        let end = self.last + count;
        let mut begun = VecDeque::with_capacity(load.window);
        let mut waits = Vec::with_capacity(count);
        while begun.len() < load.window.min(count) {
            self.call(load, &mut begun);
        }
        while let Some((id, start)) = begun.pop_front() {
            // Calls go out when all answers that had arrived are read: one write a batch.
            if !self.output.buffer().contains(&b'\n') {
                self.flush()?;
            }
            load.calls.check(id, self.read()?)?;
            waits.push(Instant::now() - start);
            if self.last < end {
                self.call(load, &mut begun);
            }
        }
        Ok(waits)
    }

    fn call(&mut self, load: &Load, begun: &mut VecDeque<(usize, Instant)>) {
        self.last += 1;
        begun.push_back((self.last, Instant::now()));
        load.calls.call(self.last, &mut self.batch);
        self.batch.push(b'\n');
    }

    fn put(&mut self, message: &str) {
        self.batch.extend_from_slice(message.as_bytes());
        self.batch.push(b'\n');
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.write_all(&self.batch)?;
        self.batch.clear();
        Ok(())
    }

    fn read(&mut self) -> Outcome<&[u8]> {
        self.line.clear();
        match self.output.read_until(b'\n', &mut self.line)? {
            0 => Err("the server has ended".into()),
            _ => Ok(&self.line),
        }
    }
}
