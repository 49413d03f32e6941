//! How many interrupts devices have raised.

use super::Tree;

/// Interrupts of all numbered lines on all CPUs since the machine came up; `None` where it does not tell.
///
/// Those without a number (timers of a CPU, calls from one to another) pass by what the kernel does for devices.
#[must_use]
pub fn total(tree: &Tree) -> Option<u64> {
    let table = tree.text("proc/interrupts").ok()?;
    let mut lines = table.lines();
    let cpus = lines.next()?.split_whitespace().count();
    let counts = lines.filter_map(|line| {
        let (number, counts) = line.split_once(':')?;
        number.trim().parse::<u32>().ok()?;
        Some(counts.split_whitespace().take(cpus).filter_map(|count| count.parse::<u64>().ok()).sum::<u64>())
    });
    Some(counts.sum())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_with_a_number_are_added_over_their_cpus() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("proc")).unwrap();
        let table = "           CPU0       CPU1\n\
                     \u{20}24:          1         20  IO-APIC   5-edge      ACPI:Ged\n\
                     \u{20}36:        300          0  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
                     LOC:    2654474    2608456   Local timer interrupts\n\
                     ERR:          7\n";
        fs::write(root.path().join("proc/interrupts"), table).unwrap();
        assert_eq!(total(&Tree::at(root.path())), Some(321));
        assert_eq!(total(&Tree::at(root.path().join("nowhere"))), None);
    }
}
