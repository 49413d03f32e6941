//! Many rows at once: the false discovery rate of Benjamini and Hochberg (1995).

/// For each p-value the smallest false discovery rate at which its row would be a discovery.
///
/// Rows with a q-value of at most 0.05 hold, on average, at most one false discovery in twenty.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut q_values = vec![1.0; p_values.len()];
    let mut smallest = 1.0_f64;
    for (rank, &row) in order.iter().enumerate().rev() {
        // The factor first: it is at least 1, so that no rounding takes a q-value below its p-value.
        smallest = smallest.min(p_values[row] * (p_values.len() as f64 / (rank + 1) as f64));
        q_values[row] = smallest;
    }
    q_values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_up_rule_by_hand() {
        // Sorted 0.01 0.02 0.03 0.5 times 4/1 4/2 4/3 4/4: 0.04 0.04 0.04 0.5.
        let found = benjamini_hochberg(&[0.5, 0.01, 0.03, 0.02]);
        for (q, expected) in found.iter().zip([0.5, 0.04, 0.04, 0.04]) {
            assert!((q - expected).abs() < 1e-12, "{found:?}");
        }
        assert!(benjamini_hochberg(&[]).is_empty());
        assert_eq!(benjamini_hochberg(&[1.0, 1.0]), [1.0, 1.0]);
    }
}
