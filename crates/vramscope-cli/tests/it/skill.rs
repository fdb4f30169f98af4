//! `skill`: it is written where it belongs, and what it tells agents to run, runs.

use std::fs;

use crate::program::{command, fixtures, transcript};

#[test]
fn a_skill_is_installed_and_its_commands_run() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = command(&["skill", "install"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            ".agents/skills/vramscope/SKILL.md\n"
        );
    }
    let skill = folder.path().join(".agents/skills/vramscope");
    let router = fs::read_to_string(skill.join("SKILL.md")).unwrap();
    assert!(router.starts_with("---\nname: vramscope\ndescription: "));
    let mut texts = vec![router.clone()];
    for entry in fs::read_dir(skill.join("references")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(router.contains(&format!("(references/{name})")), "{name}");
        texts.push(fs::read_to_string(path).unwrap());
    }
    let mut commands = 0;
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Some(line) = line.strip_prefix("vramscope ") else {
            continue;
        };
        let line = line.replace("'site=\"SITE\" never_freed'", "never_freed");
        let words = line.split_whitespace().map(|word| match word {
            "FILE" | "MEDIAN" | "ODD" => "allocator/pressure.pickle.zst",
            "DIR" => "torch-2.15.0",
            word => word,
        });
        let output = command(&words.collect::<Vec<_>>())
            .current_dir(fixtures())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", transcript(&output));
        commands += 1;
    }
    assert!(commands > 7, "{commands}");
}
