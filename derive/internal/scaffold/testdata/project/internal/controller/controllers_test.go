package controller

// user is the service account of the controllers.
const user = "system:serviceaccount:widget-system:widget-controller"

// manifests returns the files that give the service account its permissions.
func manifests() []string {
	return []string{"../../config/rbac/role.yaml", "../../config/deploy/*.yaml"}
}
