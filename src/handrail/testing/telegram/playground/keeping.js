// Draws a list anew without disturbing what stays: an element that shows the same keeps its focus and its selection.

/**
 * Show these in `parent`, in this order. Each has a `key` of its own, what it is drawn `from`, and `draw`, which makes the
 * element; it is called only if that element is not there yet, or was drawn from something else.
 */
export function showKept(parent, wanted) {
  const before = new Map([...parent.children].map((child) => [child.kept?.key, child]));
  const shown = wanted.map(({ key, from, draw }) => {
    const told = JSON.stringify(from);
    const known = before.get(key);
    return known?.kept.told === told ? known : Object.assign(draw(), { kept: { key, told } });
  });
  for (const child of [...parent.children]) if (!shown.includes(child)) child.remove();
  shown.forEach((element, number) => {
    const there = parent.children[number];
    if (there !== element) parent.insertBefore(element, there ?? null);
  });
}
