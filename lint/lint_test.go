package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/flashlane/flashlane/"

// file is a parsed Go file of the repository.
type file struct {
	path string // slash-separated, from the root
	ast  *ast.File
}

func (f file) dir() string  { return filepath.ToSlash(filepath.Dir(f.path)) }
func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// top is the first folder of a path.
func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

func files(t *testing.T) []file {
	t.Helper()
	var out []file
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != ".." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "e2e") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("..", path)
		if err != nil {
			return err
		}
		out = append(out, file{filepath.ToSlash(rel), f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("found %d Go files, want the whole repository", len(out))
	}
	return out
}

// TestImportsRunDownwards: cmd -> server -> actors -> engine -> ple, qsa -> metal (design, section 2); gate is below all.
func TestImportsRunDownwards(t *testing.T) {
	level := map[string]int{"cmd": 6, "server": 5, "actors": 4, "engine": 3, "ple": 2, "qsa": 2, "metal": 1, "gate": 0}
	for _, f := range files(t) {
		if f.isTest() {
			continue
		}
		from, ok := level[top(f.path)]
		if !ok {
			continue
		}
		for _, imp := range f.ast.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			rest, ours := strings.CutPrefix(path, module)
			if !ours || top(rest) == top(f.path) {
				continue
			}
			if to, ok := level[top(rest)]; ok && to >= from && !(top(rest) == "ple" && top(f.path) == "qsa") {
				t.Errorf("%s imports %s: imports run downwards only; move the shared piece below both, or pass it in", f.path, rest)
			}
			if rest == "nano" && top(f.path) != "cmd" {
				t.Errorf("%s imports the embedded pack: only cmd/flashlane does; open packs by path", f.path)
			}
		}
	}
}

func TestEveryPackageIntroducesItself(t *testing.T) {
	has, dirs := map[string]bool{}, map[string]bool{}
	for _, f := range files(t) {
		if f.isTest() {
			continue
		}
		dirs[f.dir()] = true
		if filepath.Base(f.path) == "doc.go" && f.ast.Doc != nil {
			has[f.dir()] = true
		}
		for _, bad := range []string{"util", "utils", "common", "misc", "helpers"} {
			if slices.Contains(strings.Split(f.dir(), "/"), bad) {
				t.Errorf("%s: a folder called %q says nothing; name it by what it holds", f.path, bad)
			}
		}
	}
	for dir := range dirs {
		if !has[dir] {
			t.Errorf("%s: no doc.go with a package comment; say what the package does, and does not", dir)
		}
	}
}

// TestEngineKnowsNoActors: the engine starts no goroutine, and only actors, server and cmd know protoactor.
func TestEngineKnowsNoActors(t *testing.T) {
	for _, f := range files(t) {
		if f.isTest() {
			continue
		}
		switch top(f.path) {
		case "engine", "ple", "qsa", "metal", "gate":
			for _, imp := range f.ast.Imports {
				if strings.Contains(imp.Path.Value, "asynkron/protoactor-go") {
					t.Errorf("%s imports protoactor: actors are the business of actors/", f.path)
				}
			}
		}
		if top(f.path) == "engine" && !strings.HasSuffix(f.dir(), "test") {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if _, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s starts a goroutine: the engine is pure; let an actor's worker run it", f.path)
				}
				return true
			})
		}
	}
}

// TestExportedThingsHaveComments: every exported type, function and method says what it does.
func TestExportedThingsHaveComments(t *testing.T) {
	for _, f := range files(t) {
		if f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && receiverExported(d) {
					t.Errorf("%s: %s has no doc comment", f.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: type %s has no doc comment", f.path, ts.Name.Name)
					}
				}
			}
		}
	}
}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}
