// Package chart draws line charts as SVG text: panels side by side, each with axes, ticks and a legend. Colours follow the
// reader's preference for light or dark pages, and lines differ by dash and marker too, so that no two are told apart by
// colour alone. The same input gives the same bytes.
package chart
