//! pkt-lines: a packet has as many bytes as its digits say, as a line and as content.

use sluice_git::pkt_line::{MAX_CONTENT, read_content, read_line};

const DIGITS: usize = 4;

/// Tries `input`.
pub fn run(input: &[u8]) {
    let mut rest = input;
    loop {
        let before = rest;
        let (mut as_line, mut as_content) = (before, before);
        let Ok(content) = read_content(&mut as_content) else {
            return;
        };
        rest = as_content;
        let taken = &before[..before.len() - rest.len()];
        let stated = str::from_utf8(&taken[..DIGITS]).expect("digits");
        let stated = usize::from_str_radix(stated, 16).expect("digits");
        match &content {
            Some(content) => {
                assert!((1..=MAX_CONTENT).contains(&content.len()));
                assert_eq!(stated, taken.len());
                assert!(taken[DIGITS..] == content[..]);
            }
            None => assert!(stated <= DIGITS && taken.len() == DIGITS),
        }
        // A line takes the same bytes, but for its newline.
        let line = read_line(&mut as_line).ok().expect("a line may be longer");
        assert_eq!(as_line.len(), rest.len());
        let content = content.unwrap_or_default();
        let without_newline = content.strip_suffix(b"\n").unwrap_or(&content);
        assert!(line.unwrap_or_default() == without_newline);
    }
}
